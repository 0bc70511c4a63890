// Fault: bad contents of tensors, which only a kernel can see.
#pragma once

#include <cstdint>

namespace openaclnn {

// What a kernel found. Independent of threads and devices: `position` is the lowest faulty one.
struct Fault {
  int64_t count = 0;  // faulty entries; 0: no fault
  int64_t position = 0;
  int64_t value = 0;      // what stands there, when it is an integer
  double real_value = 0;  // what stands there, when `is_real`
  bool is_real = false;
  int64_t limit = 0;  // first value that is too large
  int64_t total = 0;  // entries looked at
  int kind = 0;       // operator's own

  bool found() const { return count > 0; }
};

}  // namespace openaclnn
