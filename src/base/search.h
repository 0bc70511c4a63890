// Binary search over integers, for the kernels of every device.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

// Returns the first number of [low, high) for which `holds` is true, or high. Requires that `holds` is true
// from then on.
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

// Returns the last number of [low, high) for which `holds` is true. Requires that `holds` is true at low,
// where it is not called. Also requires that it stays false after the first number for which it is false.
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
