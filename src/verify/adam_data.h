// Magnitudes of data for measuring the errors of Adam's updates, up to the limits that the error bounds
// assume.
#pragma once

#include <algorithm>
#include <cstdint>

#include "verify/case.h"

namespace openaclnn_verify {

struct ExponentRange {
  int64_t low, high;  // of 2
};

struct AdamData {
  const char* name;
  ExponentRange var, m, v, grad;
};
inline constexpr AdamData kAdamData[] = {
    {"training", {-8, 2}, {-12, 2}, {-14, 3}, {-12, 3}},
    {"any size", {-40, 40}, {-40, 40}, {-60, 60}, {-40, 40}},
    {"cancelling", {0, 1}, {0, 1}, {0, 1}, {0, 1}},
    // Small v: large updates, and kappa up to its limit.
    {"first steps", {0, 1}, {0, 1}, {-40, -20}, {0, 1}},
};

// Gives the tensor numbers of these magnitudes, as far as its dtype has them.
inline void set_range(TensorCase& tensor, const ExponentRange& range) {
  const auto fits = [&](int64_t exponent) {
    return tensor.dtype == ACL_FLOAT16 ? std::clamp<int64_t>(exponent, -22, 14) : exponent;
  };
  tensor.low = fits(range.low);
  tensor.high = std::max(fits(range.high), tensor.low + 1);
}

}  // namespace openaclnn_verify
