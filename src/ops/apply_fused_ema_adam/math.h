// The update rule, once, for every device: V is a SIMD vector on the CPU and float on a GPU.
#pragma once

#include <cmath>

#include "base/inline.h"
#include "ops/apply_fused_ema_adam/plan.h"

// Each operation below is one rounded IEEE operation; the build forbids contraction to fused multiply-add. The order is part
// of the operator's contract: it fixes the bits.
namespace openaclnn {

// The first half: new moments, and the direction of the step.
template <class V>
OPENACLNN_INLINE V adam_direction(const EmaAdamCoefficients& c, V g, V var, V& m, V& v) {
  if (!c.decoupled)
    g = V(c.weight_decay) * var + g;  // mode 0, L2: decay joins the gradient, also when it is 0 (0 * inf)
  m = V(c.one_minus_beta1) * g + V(c.beta1) * m;
  v = (g * g) * V(c.one_minus_beta2) + V(c.beta2) * v;
  using std::sqrt;  // of float; a vector brings its own
  const V denominator = sqrt(v * V(c.v_scale)) + V(c.eps);
  return (m * V(c.m_scale)) / denominator;
}

// The second half: the step, and the average of the weights.
template <class V>
OPENACLNN_INLINE void ema_step(const EmaAdamCoefficients& c, V direction, V& var, V& s) {
  if (c.decoupled) direction = direction + V(c.weight_decay) * var;  // mode 1, AdamW: decay joins the update
  var = var - V(c.lr) * direction;
  s = V(c.ema_decay) * s + V(c.one_minus_ema) * var;
}

}  // namespace openaclnn
