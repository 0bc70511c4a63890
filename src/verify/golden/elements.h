// Goldens of operators that compute every element by itself, as optimizers do: tiles of elements, and the ranges in which error
// bounds hold. Kernels of several instruction sets include this, so everything that they use is inlined.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "verify/golden/double_double.h"

namespace openaclnn_verify {

// Elements that are computed at a time: a multiple of all numbers of lanes. The arrays of a tile fit in the first two caches.
inline constexpr int64_t kTileElements = 256;
struct ElementTile {
  double of[kTileElements];
};

// The memory for the results of a tile: elements of an output, or a spare tile where fewer elements are left.
struct TileResult {
  double* exact;
  double* bound;
};

inline constexpr double kNotCovered = std::numeric_limits<double>::quiet_NaN();

// The magnitudes of the nonzero products, quotients and roots of one element.
template <class Real>
class Magnitudes {
 public:
  template <class Number>
  [[gnu::always_inline]] Number keep(Number y) {
    using std::fabs;
    const Real magnitude = fabs(rounded(y));
    const Real nonzero = select(magnitude == Real(0.0), Real(1.0), magnitude);
    largest_ = larger(magnitude, largest_);
    smallest_ = smaller(nonzero, smallest_);
    return y;
  }
  // Returns whether the error bounds hold: no intermediate result underflows or overflows in float. NaN may be seen or not.
  [[gnu::always_inline]] MaskOf<Real> in_range() const {
    return (smallest_ >= Real(0x1p-126)) & (largest_ <= Real(0x1p127));
  }

 private:
  Real largest_ = 1.0, smallest_ = 1.0;
};

// Returns c * 2^-24 * S where the error bounds apply, see error_bound() in golden/arguments.h.
template <class Real>
[[gnu::always_inline]] inline Real covered_bound(MaskOf<Real> is_covered, Real exact, Real c,
                                                 Real magnitude) {
  // The first comparison is false for NaN, which has no bound.
  const MaskOf<Real> applies = is_covered & (exact == exact) & (magnitude <= Real(0x1p127));
  return select(applies, c * Real(0x1p-24) * magnitude, Real(kNotCovered));
}

// Returns 1 - beta without an error.
inline DoubleDouble one_minus(double beta) { return two_sum(1, -beta); }

// Whether the error bounds of Adam's updates hold for the decay of a moment.
inline bool is_usual_decay(double beta) { return beta >= 0 && beta <= 1 - 0x1p-20; }

}  // namespace openaclnn_verify
