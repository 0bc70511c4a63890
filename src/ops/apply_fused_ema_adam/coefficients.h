// The coefficients of the update rule from the attributes, once, for every device.
#pragma once

#include <cstdint>

#include "base/inline.h"
#include "base/power.h"
#include "ops/apply_fused_ema_adam/plan.h"

namespace openaclnn {

// For update count t, in double from the double attributes. On a CPU it runs in the task's FP environment.
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

}  // namespace openaclnn
