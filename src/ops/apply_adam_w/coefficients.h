// Computes the coefficients of the update rule from numbers in device memory and attributes, for all devices.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/fault.h"
#include "base/float16.h"
#include "base/inline.h"
#include "base/power.h"
#include "ops/apply_adam_w/plan.h"

namespace openaclnn {

// `beta1_power`, `beta2_power`: beta^t. On a CPU this runs in the task's floating-point environment.
OPENACLNN_INLINE AdamWCoefficients adam_w_coefficients(const AdamWNumbers& numbers, double beta1_power,
                                                       double beta2_power, bool maximize) {
  AdamWCoefficients c;
  c.direction = maximize ? -1.0f : 1.0f;
  c.one_minus_beta1 = static_cast<float>(1 - numbers.beta1);
  c.beta2 = static_cast<float>(numbers.beta2);
  c.one_minus_beta2 = static_cast<float>(1 - numbers.beta2);
  c.decay = static_cast<float>(1 - numbers.lr * numbers.weight_decay);
  c.step_size = static_cast<float>(numbers.lr / (1 - beta1_power));
  c.root_scale = static_cast<float>(1 / std::sqrt(1 - beta2_power));
  c.eps = static_cast<float>(numbers.eps);
  return c;
}

// The addresses of a task's numbers: those of the first version, and the step count of the second.
struct AdamWNumberAddresses {
  const void* scalars[kAdamWScalars];
  const void* step;
};

// The first version: beta^(t-1) is given, and one multiplication makes it beta^t.
template <class T>
OPENACLNN_INLINE AdamWCoefficients coefficients_of_tensors(const AdamWPlan& plan,
                                                           const AdamWNumberAddresses& addresses) {
  double scalars[kAdamWScalars];
  for (int k = 0; k < kAdamWScalars; ++k)
    scalars[k] = static_cast<double>(to_float(*static_cast<const T*>(addresses.scalars[k])));
  const AdamWNumbers numbers = {scalars[kAdamWLr], scalars[kAdamWBeta1], scalars[kAdamWBeta2],
                                scalars[kAdamWWeightDecay], scalars[kAdamWEps]};
  return adam_w_coefficients(numbers, scalars[kAdamWBeta1Power] * numbers.beta1,
                             scalars[kAdamWBeta2Power] * numbers.beta2, plan.maximize);
}

// The second version: t is the number of previous steps plus one. A FLOAT count is truncated to a whole
// number within int64. NaN stays NaN.
struct AdamWStep {
  double shown;  // the given value, if it is FLOAT
  int64_t count;
  bool is_nan;

  OPENACLNN_INLINE int64_t t() const { return count == INT64_MAX ? count : count + 1; }
};

OPENACLNN_INLINE AdamWStep read_step(const AdamWPlan& plan, const void* address) {
  if (plan.step_dtype == ACL_INT64) return {0, *static_cast<const int64_t*>(address), false};
  const double given = static_cast<double>(*static_cast<const float*>(address));
  if (given != given) return {given, 0, true};
  if (given >= 0x1p63) return {given, INT64_MAX, false};
  return {given, given < -0x1p63 ? INT64_MIN : static_cast<int64_t>(given), false};
}

OPENACLNN_INLINE AdamWCoefficients coefficients_of_step(const AdamWPlan& plan, const AdamWStep& step) {
  const double beta1 = plan.numbers.beta1, beta2 = plan.numbers.beta2;
  return adam_w_coefficients(plan.numbers, step.is_nan ? step.shown : whole_power(beta1, step.t()),
                             step.is_nan ? step.shown : whole_power(beta2, step.t()), plan.maximize);
}

// Returns whether the count is negative or NaN, which is a fault only in strict mode.
OPENACLNN_INLINE bool is_faulty(const AdamWStep& step) { return step.is_nan || step.count < 0; }

// Sets all fields except the count of faults, which the caller writes last.
OPENACLNN_INLINE void show_step(const AdamWPlan& plan, const AdamWStep& step, Fault& fault) {
  fault.total = 1;
  fault.value = step.count;
  fault.is_real = plan.step_dtype == ACL_FLOAT;
  fault.real_value = step.shown;
}

// Locates the numbers of a plan from the addresses of the call's parameters.
template <class Data>
OPENACLNN_HOST_INLINE AdamWNumberAddresses number_addresses(const AdamWPlan& plan, const Data& data) {
  AdamWNumberAddresses addresses = {};
  const int64_t scalar_bytes = plan.dtypes[kAdamWVar] == ACL_FLOAT ? 4 : 2;
  const auto address = [&](const AdamWNumberPlace& place, int64_t bytes) {
    return static_cast<const char*>(data[static_cast<size_t>(place.parameter)]) + place.offset * bytes;
  };
  if (plan.version == AdamWVersion::first) {
    for (size_t k = 0; k < kAdamWScalars; ++k) addresses.scalars[k] = address(plan.scalars[k], scalar_bytes);
  } else {
    addresses.step = address(plan.step, plan.step_dtype == ACL_INT64 ? 8 : 4);
  }
  return addresses;
}

}  // namespace openaclnn
