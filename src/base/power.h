// Integer powers in double. The order of multiplications is fixed, because it is part of the optimizers'
// contract.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

// base^exponent by binary powering, from the lowest bit of |exponent| up. A negative exponent divides at the
// end.
OPENACLNN_INLINE double whole_power(double base, int64_t exponent) {
  uint64_t n = exponent < 0 ? 0 - static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  double result = 1;
  while (n != 0) {
    if ((n & 1) != 0) result = result * base;
    n >>= 1;
    if (n != 0) base = base * base;
  }
  return exponent < 0 ? 1 / result : result;
}

}  // namespace openaclnn
