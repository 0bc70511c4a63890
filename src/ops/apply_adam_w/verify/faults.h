// Faults that kernels of ApplyAdamW have: changed attributes and formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ops/apply_adam_w/verify/sources.h"

namespace openaclnn_verify {

// The update with everything that faults change.
struct AdamWVariant {
  double lr, beta1, beta2, weight_decay, eps;
  double power1, power2;  // beta^t
  bool amsgrad = false, maximize = false;
  bool corrects_m = true, corrects_v = true;  // divides the moments by 1 - beta^t
  bool joins_gradient = false;                // the decay is added to the gradient (L2)
  bool decays_without_lr = false;
  bool has_eps_in_root = false;
  bool has_eps_before_correction = false;
  bool uses_old_moments = false;

  // The values of var, m, v, maximum, and the size of their terms.
  struct Result {
    double value[kAdamGrad], size[kAdamGrad];
  };
  Result operator()(const AdamWElement& x) const {
    const double rest1 = corrects_m ? 1 - power1 : 1, rest2 = corrects_v ? 1 - power2 : 1;
    double g = maximize ? -x[kAdamGrad] : x[kAdamGrad];
    if (joins_gradient) g += weight_decay * x[kAdamVar];
    const double m = x[kAdamM] + (1 - beta1) * (g - x[kAdamM]);
    const double v = beta2 * x[kAdamV] + (1 - beta2) * g * g;
    const double maximum = amsgrad ? std::max(x[kAdamMaximum], v) : v;
    const double used_m = uses_old_moments ? x[kAdamM] : m,
                 used_v = uses_old_moments ? x[amsgrad ? kAdamMaximum : kAdamV] : maximum;
    double root = std::sqrt(used_v / rest2 + (has_eps_in_root ? eps : 0)) + (has_eps_in_root ? 0 : eps);
    if (has_eps_before_correction) root = (std::sqrt(used_v) + eps) / std::sqrt(rest2);
    const double step = lr / rest1 * used_m / root;
    const double decay = joins_gradient ? 0 : (decays_without_lr ? 1 : lr) * weight_decay;
    const double m_size =
        std::fabs(x[kAdamM]) + std::fabs((1 - beta1) * g) + std::fabs((1 - beta1) * x[kAdamM]);
    return {{(1 - decay) * x[kAdamVar] - step, m, v, maximum},
            {std::fabs(x[kAdamVar]) * (1 + std::fabs(decay)) + std::fabs(step) +
                 std::fabs(lr / rest1) * m_size / root,
             m_size, v, maximum}};
  }
};

inline std::vector<Fault> apply_adam_w_faults(const GoldenCall& call) {
  const AdamWSetup s = recorded_adam_w_setup(call.arguments);
  const size_t grad_at = adam_w_grad_at(s, call.arguments);
  AdamWVariant right = {};
  double t = 0;
  if (s.version == 1) {
    const auto scalar = [&](size_t k) { return call.tensors[AdamWSetup::kScalarsAt + k].get(0); };
    right = {
        scalar(2), scalar(4), scalar(5), scalar(3), scalar(6), scalar(0) * scalar(4), scalar(1) * scalar(5)};
  } else {
    const auto single = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    t = std::trunc(call.tensors[grad_at + 1].get(0)) + 1;
    right = {single(s.lr), single(s.beta1), single(s.beta2), single(s.weight_decay), single(s.eps), 0, 0};
    right.power1 = std::pow(right.beta1, t);
    right.power2 = std::pow(right.beta2, t);
  }
  right.amsgrad = s.amsgrad;
  right.maximize = s.maximize;

  std::vector<Fault> faults;
  const auto add = [&](const char* name, const char* text, const std::function<void(AdamWVariant&)>& change) {
    AdamWVariant variant = right;
    change(variant);
    faults.push_back(
        {name, text, [&call, s, grad_at, variant](const Place& place) -> std::optional<FaultyValue> {
           AdamWElement x = {};
           for (size_t part = 0; part < kAdamMaximum; ++part) x[part] = call.tensors[part].get(place.element);
           x[kAdamGrad] = call.tensors[grad_at].get(place.element);
           if (s.amsgrad) x[kAdamMaximum] = call.tensors[s.maximum_at()].get(place.element);
           size_t part = 0;
           while (part < kAdamMaximum && place.parameter != kAdamNames[part]) ++part;
           const AdamWVariant::Result all = variant(x);
           if (part == kAdamV && s.amsgrad && s.version == 1) part = kAdamMaximum;
           constexpr double kRoundings = 24;
           return FaultyValue{all.value[part], kRoundings * 0x1p-24 * all.size[part]};
         }});
  };
  add("missing-bias-correction", "The moments are not divided by 1 - beta^t, where t counts this step.",
      [](AdamWVariant& v) { v.corrects_m = v.corrects_v = false; });
  add("missing-bias-correction", "m is not divided by 1 - beta1^t, where t counts this step.",
      [](AdamWVariant& v) { v.corrects_m = false; });
  add("missing-bias-correction", "v is not divided by 1 - beta2^t, where t counts this step.",
      [](AdamWVariant& v) { v.corrects_v = false; });
  const auto move_step = [](int steps) {
    return [steps](AdamWVariant& v) {
      v.power1 *= std::pow(v.beta1, steps);
      v.power2 *= std::pow(v.beta2, steps);
    };
  };
  add("step-off-by-one",
      s.version == 1 ? "The bias correction uses beta1Power and beta2Power as they are. Multiply them by "
                       "beta1 and beta2 first."
                     : "The bias correction uses step. The argument counts the steps before this one, so it "
                       "must use step + 1.",
      move_step(-1));
  add("step-off-by-one",
      "The bias correction is that of one step later. Only this step is added to those before it.",
      move_step(1));
  if (right.weight_decay != 0) {
    add("weight-decay-ignored", "The weight decay has no effect. Check that the argument reaches the kernel.",
        [](AdamWVariant& v) { v.weight_decay = 0; });
    add("decay-joins-gradient",
        "The decay is added to the gradient (L2). AdamW multiplies var by 1 - lr * weightDecay.",
        [](AdamWVariant& v) { v.joins_gradient = true; });
    add("decay-without-lr", "weightDecay * var is subtracted. It must be multiplied by lr.",
        [](AdamWVariant& v) { v.decays_without_lr = true; });
  }
  add("maximize-flipped",
      s.maximize ? "The gradient keeps its sign. maximize is true."
                 : "The sign of the gradient is changed. maximize is false.",
      [](AdamWVariant& v) { v.maximize = !v.maximize; });
  if (s.amsgrad) {
    add("amsgrad-ignored", "The update uses v. With amsgrad it must use the maximum of v.",
        [](AdamWVariant& v) { v.amsgrad = false; });
  }
  add("eps-inside-root", "eps is added under the square root. It must be added to the root.",
      [](AdamWVariant& v) { v.has_eps_in_root = true; });
  add("eps-before-correction", "eps is added before the bias correction of v. It must be added after it.",
      [](AdamWVariant& v) { v.has_eps_before_correction = true; });
  add("eps-ignored", "eps is not added to the root of v.", [](AdamWVariant& v) { v.eps = 0; });
  add("betas-swapped", "beta1 and beta2 are swapped.", [](AdamWVariant& v) {
    std::swap(v.beta1, v.beta2);
    std::swap(v.power1, v.power2);
  });
  add("old-moments-used", "The update of var uses m and v before the call. It must use the new ones.",
      [](AdamWVariant& v) { v.uses_old_moments = true; });
  return faults;
}

}  // namespace openaclnn_verify
