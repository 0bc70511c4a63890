// Fault: invalid tensor data, which only a kernel can detect.
#pragma once

#include <cstdint>

namespace openaclnn {

// The result of a kernel's checks. It does not depend on threads or devices: `position` is the lowest faulty
// one.
struct Fault {
  int64_t count = 0;  // faulty entries; 0: no fault
  int64_t position = 0;
  int64_t value = 0;      // the faulty value, if it is an integer
  double real_value = 0;  // the faulty value, if `is_real`
  bool is_real = false;
  int64_t limit = 0;             // first value that is too large
  int64_t total = 0;             // number of entries checked
  int kind = 0;                  // operator-specific
  bool nothing_written = false;  // whether the outputs are as before, because of strict mode

  bool found() const { return count > 0; }
};

}  // namespace openaclnn
