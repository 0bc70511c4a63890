// Binary search over numbers, for the kernels of every device.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

// The first number of [low, high) at which `holds` is true, or high. Requires that `holds` stays true behind that number.
template <class Holds>
OPENACLNN_KERNEL_INLINE int64_t first_where(int64_t low, int64_t high, const Holds& holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The last number of [low, high) at which `holds` is true. Requires that `holds` is true at low, where it isn't called, and stays false
// behind the first number at which it is false.
template <class Holds>
OPENACLNN_KERNEL_INLINE int64_t last_where(int64_t low, int64_t high, const Holds& holds) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace openaclnn
