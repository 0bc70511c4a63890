// ApplyFusedEmaAdam as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "verify/adam_data.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"

namespace openaclnn_verify {

inline Phase1 ema_adam_phase1(const EmaAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return aclnnApplyFusedEmaAdamGetWorkspaceSize(
        t[kGrad], t[kVar], t[kM], t[kV], t[kS], t[kStep], a.lr, a.ema_decay, a.beta1, a.beta2, a.eps, a.mode,
        a.bias_correction, a.weight_decay, workspace_bytes, executor);
  };
}

inline Case ema_adam_case(aclDataType dtype, const Shape& dims, const EmaAttributes& attributes, int64_t t,
                          Layout layout, const std::string& name) {
  const auto state = [&](int which, Values values, int64_t low, int64_t high) {
    return TensorCase{kEmaNames[which], dtype, dims, Role::reference, values, low, high, layout};
  };
  Case made;
  made.name = "ApplyFusedEmaAdam " + name;
  made.tensors = {
      {kEmaNames[kGrad], dtype, dims, Role::input, Values::symmetric, -12, 3, layout},
      state(kVar, Values::symmetric, -8, 2),
      state(kM, Values::symmetric, -12, 2),
      state(kV, Values::positive, -14, 3),
      state(kS, Values::symmetric, -8, 2),
      {kEmaNames[kStep], ACL_INT64, {1}, Role::input, Values::whole, t, t, Layout::contiguous},
  };
  made.phase1 = ema_adam_phase1(attributes);
  made.phase2 = aclnnApplyFusedEmaAdam;
  made.minimal_bytes = 9 * count_elements(dims) * element_bytes(dtype);  // five tensors in, four out
  made.judge = ema_adam_judge(attributes);
  made.attributes = recorded_attributes_of(attributes);
  return made;
}

inline std::vector<Case> apply_fused_ema_adam_cases() {
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    EmaAttributes l2 = {.lr = 0.01, .mode = 0, .weight_decay = 0.1};
    EmaAttributes decoupled = {.lr = 0.01, .ema_decay = 0.99, .mode = 1, .weight_decay = 0.1};
    EmaAttributes uncorrected = {.lr = 0.01, .mode = 1, .bias_correction = false, .weight_decay = 0};
    const auto add = [&](const char* what, const Shape& dims, const EmaAttributes& attributes,
                         Layout layout) {
      cases.push_back(
          ema_adam_case(dtype, dims, attributes, 7, layout, std::string(dtype_name(dtype)) + " " + what));
    };
    add("scalar", {}, decoupled, Layout::contiguous);
    add("vector, decay in the gradient", {70001}, l2, Layout::contiguous);
    add("vector, decoupled decay", {70001}, decoupled, Layout::contiguous);
    add("vector, no bias correction", {70001}, uncorrected, Layout::contiguous);
    add("matrix, padded rows", {257, 311}, decoupled, Layout::padded);
    add("matrix, column-major", {311, 257}, l2, Layout::transposed);
    add("short rows, negative strides", {9, 1201, 7}, decoupled, Layout::mixed);
  }
  return cases;
}

inline EmaAttributes ema_random_attributes(Draw& draw) {
  constexpr double kRates[] = {.01, 1, -.5, 3e-4};
  constexpr double kDecays[] = {.9, 0, .5, .999, 1 - 0x1p-20};
  constexpr double kEps[] = {1e-8, 1e-3, 1e-15};
  constexpr double kWeightDecays[] = {0, .1, 1};
  EmaAttributes a;
  a.lr = draw.pick(kRates);
  a.ema_decay = draw.pick(kDecays);
  a.beta1 = draw.pick(kDecays);
  a.beta2 = draw.pick(kDecays);
  a.eps = draw.pick(kEps);
  a.mode = draw.below(2);
  a.bias_correction = draw.chance(2);
  a.weight_decay = draw.pick(kWeightDecays);
  return a;
}

// Makes a random case with at most about `elements` elements.
inline Case apply_fused_ema_adam_random_case(Draw& draw, int64_t elements) {
  const EmaAttributes attributes = ema_random_attributes(draw);
  const aclDataType dtype = draw.pick(kFloatDtypes);
  const Shape dims = draw.shape(elements / 5 + 1);
  const int64_t t = draw.between(1, 2000);
  const Layout layout = draw.layout();
  return ema_adam_case(dtype, dims, attributes, t, layout, std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, half of them in each mode, with attributes and
// magnitudes up to the limits that the bounds assume.
inline std::vector<Case> apply_fused_ema_adam_numerics_cases(int64_t elements) {
  const double near_one = 1 - 0x1p-20;
  struct Run {
    EmaAttributes attributes;
    int64_t t;
  };
  const Run runs[] = {
      {{.lr = .01, .weight_decay = .1}, 7},
      {{.lr = 1, .ema_decay = .5, .beta1 = .5, .beta2 = .5, .eps = 0, .weight_decay = 1}, 1},
      {{.lr = 3e-4, .ema_decay = .25, .beta1 = 0, .beta2 = 0, .eps = 1e-3, .bias_correction = false}, 1},
      {{.lr = .01, .beta1 = near_one, .beta2 = near_one, .eps = 1e-15, .weight_decay = 1e-4}, 1},
      {{.lr = .1, .beta1 = .99, .beta2 = .9, .eps = 1e-30, .weight_decay = .5}, 1000000},
  };
  const int64_t numel = elements / (2 * 4 * static_cast<int64_t>(std::size(kAdamData) * std::size(runs))) + 1;
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const AdamData& d : kAdamData) {
      for (size_t r = 0; r < std::size(runs); ++r) {
        for (const int64_t mode : {0, 1}) {
          EmaAttributes attributes = runs[r].attributes;
          attributes.mode = mode;
          // A twentieth more, because the bounds do not cover some elements.
          Case made = ema_adam_case(dtype, {numel + numel / 20}, attributes, runs[r].t, Layout::contiguous,
                                    std::string(dtype_name(dtype)) + " " + d.name + ", attributes " +
                                        std::to_string(r) + ", mode " + std::to_string(mode));
          const ExponentRange ranges[] = {d.grad, d.var, d.m, d.v, d.var};
          for (size_t k = 0; k < kStep; ++k) set_range(made.tensors[k], ranges[k]);
          cases.push_back(std::move(made));
        }
      }
    }
  }
  return cases;
}

// The judge of a recorded call.
inline JudgeResults apply_fused_ema_adam_recorded_judge(const RecordedCall& call) {
  return ema_adam_judge(recorded_ema_attributes(call));
}

}  // namespace openaclnn_verify
