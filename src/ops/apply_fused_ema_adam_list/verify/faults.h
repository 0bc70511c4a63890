// Faults that kernels of ApplyFusedEmaAdamList have: those of ApplyFusedEmaAdam, the scale and the flag.
#pragma once

#include <utility>
#include <vector>

#include "ops/apply_fused_ema_adam/verify/faults.h"
#include "ops/apply_fused_ema_adam_list/verify/sources.h"

namespace openaclnn_verify {

inline std::vector<Fault> apply_fused_ema_adam_list_faults(const GoldenCall& call) {
  const ListForm form = recorded_list_form(call);
  const auto number = [&](bool is_given, size_t at, double otherwise) {
    return is_given ? call.tensors[at].get(0) : otherwise;
  };
  const double scale = number(form.has_scale, form.scale(), 1);
  const bool is_cancelled = number(form.has_found_inf, form.found_inf(), 0) != 0;
  const auto element_with = [&call, form](double divisor) {
    return [&call, form, divisor](const Place& place) {
      EmaElement x;
      for (size_t k = 0; k < kStep; ++k) x[k] = call.tensors[form.at(k, place.list_index)].get(place.element);
      x[kGrad] /= divisor;
      return x;
    };
  };
  const auto result = [](const Place& place) {
    for (size_t k = kVar; k < kStep; ++k) {
      if (place.parameter == kListNames[k]) return k;
    }
    return size_t{kVar};  // of the copies
  };
  EmaVariant right;
  right.attributes = form.attributes;
  right.t = whole_number_at(call.tensors[form.step()], 0);
  if (is_cancelled) {
    return faults_of_ema({{"found-inf-ignored", "The step is carried out although foundInf isn't 0.", right}},
                         element_with(scale), result);
  }
  std::vector<Fault> faults =
      faults_of_ema(ema_faults(right.attributes, right.t), element_with(scale), result);
  if (scale != 1) {
    const auto add = [&](const char* text, double divisor) {
      faults.push_back(
          std::move(faults_of_ema({{"gradient-scale", text, right}}, element_with(divisor), result)[0]));
    };
    add("The gradients are not divided by gradScale.", 1);
    add("The gradients are multiplied by gradScale. They must be divided by it.", 1 / scale);
  }
  return faults;
}

}  // namespace openaclnn_verify
