// The update rule and its coefficients, shared by all devices: V is a SIMD vector on the CPU and float on a
// GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/inline.h"
#include "base/power.h"
#include "ops/apply_fused_ema_adam/plan.h"

// Each operation below is one rounded IEEE operation; the build disables contraction to fused multiply-add.
// The order is part of the operator's contract, because it determines the bits.
namespace openaclnn {

// Computes the coefficients for update count t, in double. On a CPU this runs in the task's floating-point
// environment.
OPENACLNN_INLINE EmaAdamCoefficients ema_adam_coefficients(const EmaAdamAttributes& a, int64_t t) {
  EmaAdamCoefficients c;
  c.beta1 = static_cast<float>(a.beta1);
  c.one_minus_beta1 = static_cast<float>(1 - a.beta1);
  c.beta2 = static_cast<float>(a.beta2);
  c.one_minus_beta2 = static_cast<float>(1 - a.beta2);
  c.lr = static_cast<float>(a.lr);
  c.eps = static_cast<float>(a.eps);
  c.weight_decay = static_cast<float>(a.weight_decay);
  c.ema_decay = static_cast<float>(a.ema_decay);
  c.one_minus_ema = static_cast<float>(1 - a.ema_decay);
  c.m_scale = a.bias_correction ? static_cast<float>(1 / (1 - whole_power(a.beta1, t))) : 1.0f;
  c.v_scale = a.bias_correction ? static_cast<float>(1 / (1 - whole_power(a.beta2, t))) : 1.0f;
  c.decoupled = a.mode == 1;
  return c;
}

// The quotient of the numerator, and of the root plus eps, is the direction of the step.
template <class V>
struct AdamTerms {
  V numerator;
  V root;
};

// The first part: computes the new moments.
template <class V>
OPENACLNN_INLINE AdamTerms<V> adam_moments(const EmaAdamCoefficients& c, V g, V var, V& m, V& v) {
  if (!c.decoupled)
    g = V(c.weight_decay) * var + g;  // mode 0, L2: decay is added to the gradient, even if it is 0 (0 * inf)
  m = V(c.one_minus_beta1) * g + V(c.beta1) * m;
  v = (g * g) * V(c.one_minus_beta2) + V(c.beta2) * v;
  using std::sqrt;  // for float; vectors define their own
  return {m * V(c.m_scale), sqrt(v * V(c.v_scale))};
}

// The second part: computes the direction of the step.
template <class V>
OPENACLNN_INLINE V adam_direction(const EmaAdamCoefficients& c, const AdamTerms<V>& terms) {
  return terms.numerator / (terms.root + V(c.eps));
}

// The third part: takes the step and updates the average.
template <class V>
OPENACLNN_INLINE void ema_step(const EmaAdamCoefficients& c, V direction, V& var, V& s) {
  if (c.decoupled) direction = direction + V(c.weight_decay) * var;  // mode 1, AdamW: decay is added here
  var = var - V(c.lr) * direction;
  s = V(c.ema_decay) * s + V(c.one_minus_ema) * var;
}

}  // namespace openaclnn
