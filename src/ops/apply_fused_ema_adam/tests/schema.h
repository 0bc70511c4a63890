// ApplyFusedEmaAdam as a schema: a valid call, the faults of its own rules, and which calls phase 1 accepts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "support/phase1_faults.h"

namespace openaclnn_test {
namespace apply_fused_ema_adam_schema {

enum Number { kMode };

inline constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
inline constexpr const char* kEqual = "must be equal";

inline EmaAttributes ema_attributes(const CallHandles& call) {
  const std::vector<double>& r = call.reals;
  return {r[0], r[1], r[2], r[3], r[4], call.numbers[kMode], call.flags[0], r[5]};
}

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &grad = a.tensors[kGrad], &step = a.tensors[kStep];
  for (size_t k = kGrad; k < kStep; ++k) {
    if (!has_dtype(a.tensors[k], {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})) return says_dtype(a.tensors[k]);
  }
  if (step.dtype != ACL_INT64) return says_dtype(step);
  for (size_t k = kVar; k < kStep; ++k) {
    if (a.tensors[k].dtype != grad.dtype) return says_dtype(a.tensors[k]);
    if (a.tensors[k].dims != grad.dims) return says_shape(a.tensors[k]);
  }
  if (std::ranges::count(step.dims, 0) > 0) return says_shape(step);
  const int64_t mode = a.numbers[kMode];
  return mode == 0 || mode == 1 ? "" : "mode is " + std::to_string(mode) + ";";
}

inline Schema ema_test() {
  Schema test;
  test.function = kEmaPhase1;
  for (const char* name : kEmaNames)
    test.valid.tensors.push_back({.name = name, .role = Role::reference, .dims = {4, 8}});
  test.valid.tensors[kGrad].role = Role::input;
  test.valid.tensors[kStep] = {.name = kEmaNames[kStep], .dtype = ACL_INT64, .dims = {1}};
  test.valid.numbers = {1};
  test.valid.reals = {1e-3, .9999, .9, .999, 1e-8, 0};
  test.valid.flags = {true};
  test.number_names = {"mode"};
  test.attributes = {kMode};
  test.refusal = refusal;
  test.phase1 = [](const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return ema_adam_phase1(ema_attributes(call))(call.tensors, workspace_bytes, executor);
  };

  std::vector<Fault>& faults = test.faults;
  for (size_t k = kGrad; k < kStep; ++k) {
    faults.push_back(bad_dtype("grad, var, m, v, s: FLOAT, FLOAT16, BF16", k, ACL_INT32,
                               {std::string(kEmaNames[k]) + " has dtype ACL_INT32", kFloats}));
  }
  faults.push_back(
      bad_dtype("step INT64", kStep, ACL_FLOAT, {"step has dtype ACL_FLOAT; it must be ACL_INT64"}));
  for (size_t k = kVar; k < kStep; ++k) {
    faults.push_back(bad_dtype(
        "var, m, v, s = grad", k, ACL_FLOAT16,
        {std::string(kEmaNames[k]) + " has dtype ACL_FLOAT16", "grad has dtype ACL_FLOAT", kEqual}));
  }
  for (size_t k = kVar; k < kStep; ++k) {
    for (const auto& [dims, shape] : {std::pair(Shape{8, 4}, "[8, 4]"), {Shape{32}, "[32]"}}) {
      faults.push_back(
          bad_dims("var, m, v, s = grad", k, dims,
                   {std::string(kEmaNames[k]) + " has shape " + shape, "grad has shape [4, 8]", kEqual}));
    }
  }
  faults.push_back(
      bad_dims("step not empty", kStep, {3, 0}, {"step has shape [3, 0]", "at least one element"}));
  faults.push_back(bad_number(kAttributeRule, "mode 0, 1", kMode, 2, {"mode is 2", "0", "1"}));
  return test;
}

}  // namespace apply_fused_ema_adam_schema

inline std::vector<Schema> apply_fused_ema_adam_schemas() {
  return {apply_fused_ema_adam_schema::ema_test()};
}
}  // namespace openaclnn_test
