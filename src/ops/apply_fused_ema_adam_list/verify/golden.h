// The golden of ApplyFusedEmaAdamList: that of ApplyFusedEmaAdam for each index, with a scaled gradient.
#pragma once

#include <array>
#include <vector>

#include "ops/apply_fused_ema_adam/verify/golden_update.h"
#include "ops/apply_fused_ema_adam_list/verify/oracle.h"
#include "verify/dtypes.h"

namespace openaclnn_verify {

// Returns the only element of an optional tensor of FLOAT.
inline double float_given(const GivenTensors& given, const char* name) {
  constexpr aclDataType kFloat[] = {ACL_FLOAT};
  const Array& tensor = given.read(name, kFloat);
  if (tensor.numel() != 1) reject(std::string(name) + " must have one element");
  return tensor.get(0);
}

// Returns the golden of a copy of var in another dtype.
inline GoldenOutput golden_of_copy(const GoldenOutput& var, const Array& copy, size_t index) {
  return {kListNames[kCopy], index, copy.dtype, copy.dims, var.exact, var.bound, {}};
}

inline Golden apply_fused_ema_adam_list_golden(const GoldenCall& call) {
  constexpr const char* kNames[] = {"grads",           "varRefs",           "mRefs", "vRefs",
                                    "sRefs",           "varCopiesOptional", "step",  "gradScaleOptional",
                                    "foundInfOptional"};
  const GivenTensors given(call, kNames,
                           {"grads", "varRefs", "mRefs", "vRefs", "sRefs", "varCopiesOptional"});
  const EmaAttributes a = checked_ema_attributes(call.arguments);
  constexpr aclDataType kInt64[] = {ACL_INT64};
  const Array& step = given.read("step", kInt64);
  if (step.numel() == 0) reject("step is empty; it must have an element");
  EmaScale scale;
  if (given.has("gradScaleOptional")) scale = {true, float_given(given, "gradScaleOptional")};
  const bool changes = !given.has("foundInfOptional") || float_given(given, "foundInfOptional") == 0;
  const bool has_copies = given.has("varCopiesOptional");
  const EmaUpdate update(a, integer_at(step, 0), scale);

  Golden golden;
  const auto lists = has_copies ? kMostLists : kCopy;
  std::array<std::vector<GoldenOutput>, kMostLists> outputs;
  for (size_t n = 0; n < call.arguments.list_length; ++n) {
    EmaTensors tensors;
    for (size_t k = 0; k < kCopy; ++k) {
      tensors[k] = &given.read(kListNames[k], kFloatDtypes, n);
      require_dims(kListNames[k], *tensors[k], tensors[0]->dims);
    }
    std::array<GoldenOutput, kEmaOutputs> made;
    for (size_t k = kVar; k < kCopy; ++k)
      made[k - kVar] = changes ? new_output(kListNames[k], *tensors[k], n)
                               : unchanged_output(kListNames[k], *tensors[k], n);
    if (changes) update.compute(tensors, call.threads, made);
    if (has_copies) {
      const Array& copy = changes ? given.shape_of(kListNames[kCopy], n) : given.read(kListNames[kCopy], n);
      require_dims(kListNames[kCopy], copy, tensors[0]->dims);
      if (float_format(copy.dtype) == nullptr) reject("varCopiesOptional must be FLOAT16 or BF16");
      outputs[kCopy].push_back(changes ? golden_of_copy(made[0], copy, n)
                                       : unchanged_output(kListNames[kCopy], copy, n));
    }
    for (size_t k = kVar; k < kCopy; ++k) outputs[k].push_back(std::move(made[k - kVar]));
  }
  for (size_t k = kVar; k < lists; ++k) {
    for (GoldenOutput& output : outputs[k]) golden.outputs.push_back(std::move(output));
  }
  return golden;
}

}  // namespace openaclnn_verify
