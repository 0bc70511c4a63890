// The update rule, shared by all devices: V is a SIMD vector on the CPU and float on a GPU.
#pragma once

#include <cmath>

#include "base/inline.h"
#include "ops/apply_adam_w/plan.h"

// Each operation below is one rounded IEEE operation; the build disables contraction to fused multiply-add.
// The order is part of the operator's contract, because it determines the bits.
namespace openaclnn {

// Computes the new moments. The product with the direction, which is 1 or -1, is exact.
template <class V>
OPENACLNN_INLINE void adam_w_moments(const AdamWCoefficients& c, V grad, V& m, V& v) {
  const V g = V(c.direction) * grad;
  m = m + (g - m) * V(c.one_minus_beta1);
  v = V(c.beta2) * v + (g * g) * V(c.one_minus_beta2);
}

// Computes the step along the new m. `v` is the new second moment, or with amsgrad the largest one so far.
template <class V>
OPENACLNN_INLINE void adam_w_step(const AdamWCoefficients& c, V m, V v, V& var) {
  using std::sqrt;  // for float; vectors define their own
  const V denominator = sqrt(v) * V(c.root_scale) + V(c.eps);
  var = V(c.decay) * var - (V(c.step_size) * m) / denominator;
}

}  // namespace openaclnn
