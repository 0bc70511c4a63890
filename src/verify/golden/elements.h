// Goldens of operators that compute every element by itself, as optimizers do: tiles of elements, and the ranges in which error
// bounds hold.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "verify/golden/double_double.h"
#include "verify/golden/workers.h"

namespace openaclnn_verify {

// Elements that are computed at a time. The arrays of a tile fit in the first two caches.
inline constexpr int64_t kTileElements = 256;
using ElementTile = std::array<double, kTileElements>;

inline constexpr double kNotCovered = std::numeric_limits<double>::quiet_NaN();

// The magnitudes of the nonzero products, quotients and roots of one element.
class Magnitudes {
 public:
  template <class Number>
  Number keep(Number y) {
    const double magnitude = std::fabs(rounded(y)), nonzero = magnitude == 0 ? 1 : magnitude;
    largest_ = magnitude > largest_ ? magnitude : largest_;
    smallest_ = nonzero < smallest_ ? nonzero : smallest_;
    return y;
  }
  // Returns whether the error bounds hold: no intermediate result underflows or overflows in float. NaN is not seen here.
  bool in_range() const { return (smallest_ >= 0x1p-126) & (largest_ <= 0x1p127); }

 private:
  double largest_ = 1, smallest_ = 1;
};

// Returns 1 - beta without an error.
inline DoubleDouble one_minus(double beta) { return two_sum(1, -beta); }

// Whether the error bounds of Adam's updates hold for the decay of a moment.
inline bool is_usual_decay(double beta) { return beta >= 0 && beta <= 1 - 0x1p-20; }

}  // namespace openaclnn_verify
