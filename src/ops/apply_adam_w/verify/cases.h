// ApplyAdamW as data: the named cases of both versions, for tests of this room and of all rooms.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "ops/apply_adam_w/verify/oracle.h"
#include "verify/adam_data.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"

namespace openaclnn_verify {

inline Phase1 adam_w_phase1(const AdamWSetup& s) {
  // Rounded here, because tests also use other rounding modes.
  const auto single = [](double x) { return static_cast<float>(x); };
  return [s, lr = single(s.lr), beta1 = single(s.beta1), beta2 = single(s.beta2),
          weight_decay = single(s.weight_decay),
          eps = single(s.eps)](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    aclTensor* const maximum = s.amsgrad ? t[s.maximum_at()] : nullptr;
    if (s.version == 1) {
      return aclnnApplyAdamWGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9],
                                             t[10], maximum, s.amsgrad, s.maximize, workspace_bytes,
                                             executor);
    }
    return aclnnApplyAdamWV2GetWorkspaceSize(t[0], t[1], t[2], maximum, t[s.grad_at()], t[s.step_at()], lr,
                                             beta1, beta2, weight_decay, eps, s.amsgrad, s.maximize,
                                             workspace_bytes, executor);
  };
}
inline Phase2 adam_w_phase2(const AdamWSetup& s) {
  return s.version == 1 ? aclnnApplyAdamW : aclnnApplyAdamWV2;
}

// A tensor of one element of any value.
inline TensorCase number_case(const char* name, aclDataType dtype, double value) {
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  TensorCase made = {name, dtype, {1}, Role::input, Values::listed, exponent - 53};
  made.listed = {static_cast<int64_t>(std::ldexp(significand, 53))};
  return made;
}

inline Case adam_w_case(const AdamWSetup& s, const Shape& dims, Layout layout, const std::string& name) {
  Case made;
  made.name = "ApplyAdamW " + name;
  const auto add = [&](const char* tensor, aclDataType dtype, Role role, Values values, int64_t low,
                       int64_t high) {
    made.tensors.push_back({tensor, dtype, dims, role, values, low, high, layout});
    made.minimal_bytes += count_elements(dims) * element_bytes(dtype) * (role == Role::reference ? 2 : 1);
  };
  const auto add_maximum = [&] {
    if (!s.amsgrad) return;
    const bool written = s.writes_maximum();
    add(written ? "maxGradNormOptionalRef" : "maxGradNormOptional", s.maximum_dtype,
        written ? Role::reference : Role::input, Values::positive, -14, 3);
  };
  made.minimal_bytes = 0;
  add("varRef", s.dtype, Role::reference, Values::symmetric, -8, 2);
  add("mRef", s.dtype, Role::reference, Values::symmetric, -12, 2);
  add("vRef", s.dtype, Role::reference, Values::positive, -14, 3);
  if (s.version == 2) add_maximum();
  if (s.version == 1) {
    const auto before = static_cast<double>(s.step);
    const std::pair<const char*, double> scalars[] = {{"beta1Power", std::pow(s.beta1, before)},
                                                      {"beta2Power", std::pow(s.beta2, before)},
                                                      {"lr", s.lr},
                                                      {"weightDecay", s.weight_decay},
                                                      {"beta1", s.beta1},
                                                      {"beta2", s.beta2},
                                                      {"eps", s.eps}};
    for (const auto& [scalar, value] : scalars) made.tensors.push_back(number_case(scalar, s.dtype, value));
  }
  add("grad", s.grad_dtype, Role::input, Values::symmetric, -12, 3);
  if (s.version == 1) add_maximum();
  if (s.version == 2) {
    made.tensors.push_back({"step", s.step_dtype, {1}, Role::input, Values::whole, s.step, s.step});
  }
  made.phase1 = adam_w_phase1(s);
  made.phase2 = adam_w_phase2(s);
  made.judge = adam_w_judge(s);
  made.attributes.integers = {{"amsgrad", s.amsgrad ? 1 : 0}, {"maximize", s.maximize ? 1 : 0}};
  if (s.version == 2) {
    made.attributes.reals = {{"lr", s.lr},
                             {"beta1", s.beta1},
                             {"beta2", s.beta2},
                             {"weightDecay", s.weight_decay},
                             {"eps", s.eps}};
  }
  return made;
}

// FLOAT parameters with 16-bit gradients, and a maximum of either dtype.
inline AdamWSetup adam_w_mixed_setup(aclDataType grad_dtype, bool amsgrad, aclDataType maximum_dtype) {
  AdamWSetup s = adam_w_setup(2, ACL_FLOAT, amsgrad);
  s.grad_dtype = grad_dtype;
  s.maximum_dtype = maximum_dtype;
  return s;
}

inline std::vector<Case> apply_adam_w_cases() {
  std::vector<Case> cases;
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    const auto add = [&](int version, const char* what, const Shape& dims, bool amsgrad, bool maximize,
                         Layout layout) {
      AdamWSetup s = adam_w_setup(version, dtype, amsgrad);
      s.maximize = maximize;
      if (maximize) s.step_dtype = ACL_FLOAT;
      cases.push_back(adam_w_case(
          s, dims, layout, std::string(version == 2 ? "V2 " : "V1 ") + dtype_name(dtype) + " " + what));
    };
    add(2, "scalar", {}, true, false, Layout::contiguous);
    add(2, "vector", {70001}, false, false, Layout::contiguous);
    add(2, "vector, maximize, FLOAT step", {70001}, false, true, Layout::contiguous);
    add(2, "vector, amsgrad", {70001}, true, false, Layout::contiguous);
    add(2, "matrix, padded rows", {257, 311}, false, false, Layout::padded);
    add(2, "matrix, column-major, amsgrad", {311, 257}, true, true, Layout::transposed);
    add(2, "short rows, negative strides", {9, 1201, 7}, true, false, Layout::mixed);
    add(1, "vector", {70001}, false, false, Layout::contiguous);
    add(1, "vector, amsgrad", {70001}, true, true, Layout::contiguous);
    add(1, "short rows, negative strides", {9, 1201, 7}, true, false, Layout::mixed);
  }
  for (const aclDataType grad : {ACL_FLOAT16, ACL_BF16}) {
    const auto add = [&](const char* what, const Shape& dims, bool amsgrad, aclDataType maximum,
                         Layout layout) {
      cases.push_back(adam_w_case(adam_w_mixed_setup(grad, amsgrad, maximum), dims, layout,
                                  std::string("V2 FLOAT with grad ") + dtype_name(grad) + " " + what));
    };
    add("vector", {70001}, false, ACL_FLOAT, Layout::contiguous);
    add("vector, amsgrad in FLOAT", {70001}, true, ACL_FLOAT, Layout::contiguous);
    add("vector, amsgrad in 16 bits", {70001}, true, grad, Layout::contiguous);
    add("short rows, negative strides", {9, 1201, 7}, true, grad, Layout::mixed);
  }
  return cases;
}

inline AdamWSetup adam_w_random_setup(Draw& draw) {
  constexpr double kRates[] = {.01, 1, -.5, 3e-4};
  constexpr double kDecays[] = {.9, 0, .5, .99};
  constexpr double kEps[] = {1e-8, 1e-3};
  constexpr double kWeightDecays[] = {0, .125, 1};
  const bool amsgrad = draw.chance(2);
  const aclDataType dtype = draw.pick(kFloatDtypes);
  AdamWSetup s = adam_w_setup(static_cast<int>(2 - draw.below(2)), dtype, amsgrad);
  if (s.version == 2 && s.dtype == ACL_FLOAT) {
    s.grad_dtype = draw.pick(kFloatDtypes);
    s.maximum_dtype = draw.chance(2) ? s.grad_dtype : s.dtype;
  }
  s.maximize = draw.chance(2);
  s.lr = draw.pick(kRates);
  s.beta1 = draw.pick(kDecays);
  s.beta2 = draw.pick(kDecays);
  s.weight_decay = draw.pick(kWeightDecays);
  s.eps = draw.pick(kEps);
  s.step = draw.below(2000);
  s.step_dtype = draw.chance(2) ? ACL_FLOAT : ACL_INT64;
  return s;
}

// Makes a random case with at most about `elements` elements.
inline Case apply_adam_w_random_case(Draw& draw, int64_t elements) {
  const AdamWSetup s = adam_w_random_setup(draw);
  const Shape dims = draw.shape(elements / 5 + 1);
  const Layout layout = draw.layout();
  return adam_w_case(s, dims, layout, std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, with hyperparameters and magnitudes up to the
// limits that the bounds assume.
inline std::vector<Case> apply_adam_w_numerics_cases(int64_t elements) {
  struct Run {
    double lr, beta1, beta2, weight_decay, eps;
    int64_t step;
  };
  const double near_one = 1 - 0x1p-20;
  const Run runs[] = {
      {.01, .9, .99, .1, 1e-3, 6},
      {1, .5, .5, 1, 0, 0},
      {3e-4, 0, 0, .01, 1e-3, 3},
      {.01, near_one, near_one, 1e-4, 1e-15, 0},  // second version only: 16-bit types cannot represent it
      {.1, .98, .9, .5, 1e-30, 999999}};
  std::vector<Case> cases;
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    std::vector<AdamWSetup> setups;
    for (const bool amsgrad : {false, true}) {
      for (const int version : {1, 2}) setups.push_back(adam_w_setup(version, dtype, amsgrad));
    }
    if (dtype != ACL_FLOAT) setups.push_back(adam_w_mixed_setup(dtype, true, dtype));
    const int64_t numel =
        elements / (3 * static_cast<int64_t>(4 * std::size(kAdamData) * (std::size(runs) - 1))) + 1;
    for (const AdamWSetup& setup : setups) {
      for (const AdamData& d : kAdamData) {
        for (size_t r = 0; r < std::size(runs); ++r) {
          if (runs[r].beta1 == near_one && setup.version == 1 && dtype != ACL_FLOAT) continue;
          AdamWSetup s = setup;
          s.lr = runs[r].lr;
          s.beta1 = runs[r].beta1;
          s.beta2 = runs[r].beta2;
          s.weight_decay = runs[r].weight_decay;
          s.eps = runs[r].eps;
          s.step = runs[r].step;
          // A tenth more, because the bounds do not cover some elements.
          Case made =
              adam_w_case(s, {numel + numel / 10}, Layout::contiguous,
                          std::string(dtype_name(dtype)) + " " + d.name + ", numbers " + std::to_string(r) +
                              ", setup " + std::to_string(&setup - setups.data()));
          const ExponentRange ranges[kAdamParts] = {d.var, d.m, d.v, d.v, d.grad};
          for (size_t part = 0; part < kAdamParts; ++part) {
            if (adam_w_has(s, part)) set_range(made.tensors[adam_w_position(s, part)], ranges[part]);
          }
          cases.push_back(std::move(made));
        }
      }
    }
  }
  return cases;
}

// The judge of a recorded call. The dtypes are those of its tensors.
inline JudgeResults apply_adam_w_recorded_judge(const RecordedCall& call) {
  const AdamWSetup s = recorded_adam_w_setup(call);
  return [s](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    AdamWSetup with_dtypes = s;
    with_dtypes.dtype = before[0].dtype();
    with_dtypes.grad_dtype = before[s.grad_at()].dtype();
    if (s.amsgrad) with_dtypes.maximum_dtype = before[s.maximum_at()].dtype();
    if (s.version == 2) with_dtypes.step_dtype = before[s.step_at()].dtype();
    adam_w_judge(with_dtypes)(before, after, judge);
  };
}

}  // namespace openaclnn_verify
