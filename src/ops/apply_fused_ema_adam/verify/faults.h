// Faults that kernels of ApplyFusedEmaAdam have: changed attributes and formulas.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/apply_fused_ema_adam/verify/sources.h"

namespace openaclnn_verify {

// The update with everything that faults change.
struct EmaVariant {
  EmaAttributes attributes;
  int64_t t = 1;
  bool corrects_m = true, corrects_v = true;  // if bias correction is on
  bool has_eps_in_root = false;
  bool has_eps_before_correction = false;
  bool averages_old_var = false;
  bool decays_without_lr = false;
  bool multiplies_by_decay_before = false;  // mode 1: the decay of var also enters the gradient
  bool uses_old_moments = false;            // the update is that of m and v before the call
  bool has_linear_v = false;                // v averages |g|, not its square
  double direction = -1;                    // of the update

  // Returns var, m, v, s at the positions of EmaTensor, and the size of their terms as the bounds.
  struct Result {
    double value[kStep], size[kStep];
  };
  Result operator()(const EmaElement& x) const {
    const EmaAttributes& a = attributes;
    const auto correction = [&](double beta, bool corrects) {
      return a.bias_correction && corrects ? -1 / std::expm1(static_cast<double>(t) * std::log1p(beta - 1))
                                           : 1;
    };
    const double r1 = correction(a.beta1, corrects_m), r2 = correction(a.beta2, corrects_v);
    const double decay = a.weight_decay * x[kVar];
    const double g = x[kGrad] + (a.mode == 0 || multiplies_by_decay_before ? decay : 0);
    const double m = a.beta1 * x[kM] + (1 - a.beta1) * g;
    const double square = has_linear_v ? std::fabs(g) : g * g;
    const double v = a.beta2 * x[kV] + (1 - a.beta2) * square;
    const double used_m = uses_old_moments ? x[kM] : m, used_v = uses_old_moments ? x[kV] : v;
    double root = std::sqrt(used_v * r2 + (has_eps_in_root ? a.eps : 0)) + (has_eps_in_root ? 0 : a.eps);
    if (has_eps_before_correction) root = (std::sqrt(used_v) + a.eps) * std::sqrt(r2);
    const double update = used_m * r1 / root;
    double var = x[kVar] + direction * a.lr * update;
    if (a.mode != 0) var -= decays_without_lr ? decay : a.lr * decay;
    const double s = a.ema_decay * x[kS] + (1 - a.ema_decay) * (averages_old_var ? x[kVar] : var);
    const double m_size = std::fabs(a.beta1 * x[kM]) + std::fabs((1 - a.beta1) * g);
    const double var_size =
        std::fabs(x[kVar]) + std::fabs(a.lr) * (std::fabs(update) + m_size * r1 / root + std::fabs(decay));
    return {{0, var, m, v, s},
            {0, var_size, m_size, std::fabs(a.beta2 * x[kV]) + std::fabs((1 - a.beta2) * square),
             std::fabs(a.ema_decay * x[kS]) + std::fabs(1 - a.ema_decay) * var_size}};
  }
};

struct NamedEmaVariant {
  const char* name;
  std::string text;
  EmaVariant variant;
};

inline std::vector<NamedEmaVariant> ema_faults(const EmaAttributes& attributes, int64_t t) {
  EmaVariant right;
  right.attributes = attributes;
  right.t = t;
  std::vector<NamedEmaVariant> all;
  const auto add = [&](const char* name, const char* text, const std::function<void(EmaVariant&)>& change) {
    NamedEmaVariant made = {name, text, right};
    change(made.variant);
    all.push_back(std::move(made));
  };
  if (attributes.bias_correction) {
    add("missing-bias-correction", "The moments are not divided by 1 - beta^step. biasCorrection is true.",
        [](EmaVariant& v) { v.attributes.bias_correction = false; });
    add("missing-bias-correction", "m is not divided by 1 - beta1^step. biasCorrection is true.",
        [](EmaVariant& v) { v.corrects_m = false; });
    add("missing-bias-correction", "v is not divided by 1 - beta2^step. biasCorrection is true.",
        [](EmaVariant& v) { v.corrects_v = false; });
    add("step-off-by-one",
        "The bias correction uses step + 1. The step of the call is already the number of this step.",
        [](EmaVariant& v) { ++v.t; });
    add("step-off-by-one",
        "The bias correction uses step - 1. The step of the call is already the number of this step.",
        [](EmaVariant& v) { --v.t; });
  } else {
    add("bias-correction-applied",
        "The moments are divided by 1 - beta^step, although biasCorrection is false.",
        [](EmaVariant& v) { v.attributes.bias_correction = true; });
  }
  if (attributes.weight_decay != 0) {
    add("weight-decay-ignored",
        "The weight decay has no effect. Check that the attribute reaches the kernel.",
        [](EmaVariant& v) { v.attributes.weight_decay = 0; });
    add("mode-flipped",
        attributes.mode == 0 ? "The decay joins the update (AdamW). With mode 0 it joins the gradient (L2)."
                             : "The decay joins the gradient (L2). With mode 1 it joins the update (AdamW).",
        [](EmaVariant& v) { v.attributes.mode = 1 - v.attributes.mode; });
    if (attributes.mode != 0) {
      add("decay-without-lr", "weightDecay * var is subtracted. It must be multiplied by lr.",
          [](EmaVariant& v) { v.decays_without_lr = true; });
      add("decay-applied-twice",
          "The decay joins the gradient and the update. With mode 1 it joins only the update.",
          [](EmaVariant& v) { v.multiplies_by_decay_before = true; });
    }
  }
  add("average-of-old-weights", "s is the average with var before the update. It must use the new var.",
      [](EmaVariant& v) { v.averages_old_var = true; });
  add("average-weights-swapped",
      "emaDecay multiplies var and 1 - emaDecay multiplies s. It must be the other way round.",
      [](EmaVariant& v) { v.attributes.ema_decay = 1 - v.attributes.ema_decay; });
  add("eps-inside-root", "eps is added under the square root. It must be added to the root.",
      [](EmaVariant& v) { v.has_eps_in_root = true; });
  add("eps-before-correction", "eps is added before the bias correction of v. It must be added after it.",
      [](EmaVariant& v) { v.has_eps_before_correction = true; });
  add("eps-ignored", "eps is not added to the root of v.", [](EmaVariant& v) { v.attributes.eps = 0; });
  add("betas-swapped", "beta1 and beta2 are swapped.",
      [](EmaVariant& v) { std::swap(v.attributes.beta1, v.attributes.beta2); });
  add("old-moments-used", "The update of var uses m and v before the call. It must use the new ones.",
      [](EmaVariant& v) { v.uses_old_moments = true; });
  add("gradient-not-squared", "v averages the magnitude of the gradient. It must average its square.",
      [](EmaVariant& v) { v.has_linear_v = true; });
  add("update-sign-flipped", "The update is added to var. It must be subtracted.",
      [](EmaVariant& v) { v.direction = 1; });
  return all;
}

// `element(place)` returns the inputs, `result` which of the results a place has.
inline std::vector<Fault> faults_of_ema(std::vector<NamedEmaVariant> variants,
                                        const std::function<EmaElement(const Place&)>& element,
                                        const std::function<size_t(const Place&)>& result) {
  std::vector<Fault> faults;
  for (NamedEmaVariant& named : variants) {
    faults.push_back(
        {named.name, std::move(named.text),
         [variant = named.variant, element, result](const Place& place) -> std::optional<FaultyValue> {
           const EmaVariant::Result all = variant(element(place));
           const size_t k = result(place);
           constexpr double kRoundings = 24;
           return FaultyValue{all.value[k], kRoundings * 0x1p-24 * all.size[k]};
         }});
  }
  return faults;
}

inline std::vector<Fault> apply_fused_ema_adam_faults(const GoldenCall& call) {
  const auto element = [&call](const Place& place) {
    EmaElement x;
    for (size_t k = 0; k < kStep; ++k) x[k] = call.tensors[k].get(place.element);
    return x;
  };
  const auto result = [](const Place& place) {
    size_t k = kVar;
    while (k < kS && place.parameter != kEmaNames[k]) ++k;
    return k;
  };
  return faults_of_ema(
      ema_faults(recorded_ema_attributes(call.arguments), whole_number_at(call.tensors[kStep], 0)), element,
      result);
}

}  // namespace openaclnn_verify
