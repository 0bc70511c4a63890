// ApplyFusedEmaAdam as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1
// accepts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ops/apply_fused_ema_adam/verify/cases.h"
#include "ops/apply_fused_ema_adam/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace apply_fused_ema_adam_schema {

enum Number { kMode };

inline constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
inline constexpr const char* kEqual = "must be equal";

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &grad = a.tensors[kGrad], &step = a.tensors[kStep];
  for (size_t k = kGrad; k < kStep; ++k) {
    if (!has_dtype(a.tensors[k])) return says_dtype(a.tensors[k]);
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
  const TensorArgument large = {ACL_FLOAT, {4, 8}}, step = {ACL_INT64, {1}, Handle::live, {3}};
  Schema test = schema_of(openaclnn_verify::apply_fused_ema_adam_descriptions()[0],
                          {.tensors = {large, large, large, large, large, step},
                           .numbers = {1},
                           .reals = {1e-3, .9999, .9, .999, 1e-8, 0},
                           .flags = {true}});
  test.refusal = refusal;

  std::vector<Mistake>& mistakes = test.mistakes;
  const auto name = [&](size_t k) { return test.valid.tensors[k].name; };
  for (size_t k = kGrad; k < kStep; ++k) {
    mistakes.push_back(bad_dtype("grad, var, m, v, s: FLOAT, FLOAT16, BF16", k, ACL_INT32,
                                 {name(k) + " has dtype ACL_INT32", kFloats}));
  }
  mistakes.push_back(
      bad_dtype("step INT64", kStep, ACL_FLOAT, {"step has dtype ACL_FLOAT; it must be ACL_INT64"}));
  for (size_t k = kVar; k < kStep; ++k) {
    mistakes.push_back(bad_dtype("var, m, v, s = grad", k, ACL_FLOAT16,
                                 {name(k) + " has dtype ACL_FLOAT16", "grad has dtype ACL_FLOAT", kEqual}));
  }
  for (size_t k = kVar; k < kStep; ++k) {
    for (const auto& [dims, shape] : {std::pair(Shape{8, 4}, "[8, 4]"), {Shape{32}, "[32]"}}) {
      mistakes.push_back(bad_dims("var, m, v, s = grad", k, dims,
                                  {name(k) + " has shape " + shape, "grad has shape [4, 8]", kEqual}));
    }
  }
  mistakes.push_back(
      bad_dims("step not empty", kStep, {3, 0}, {"step has shape [3, 0]", "at least one element"}));
  mistakes.push_back(bad_number(kAttributeRule, "mode 0, 1", kMode, 2, {"mode is 2", "0", "1"}));
  return test;
}

}  // namespace apply_fused_ema_adam_schema

inline std::vector<Schema> apply_fused_ema_adam_schemas() {
  return {apply_fused_ema_adam_schema::ema_test()};
}
}  // namespace openaclnn_test
