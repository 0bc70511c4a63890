// The golden of ApplyFusedEmaAdam: the formula in arithmetic of 106 bits.
#pragma once

#include "ops/apply_fused_ema_adam/verify/golden_update.h"
#include "verify/dtypes.h"
#include "verify/golden/arguments.h"

namespace openaclnn_verify {

inline Golden apply_fused_ema_adam_golden(const GoldenCall& call) {
  const GivenTensors given(call, kEmaNames);
  const EmaAttributes a = checked_ema_attributes(call.arguments);
  constexpr aclDataType kInt64[] = {ACL_INT64};
  const Array& step = given.read("step", kInt64);
  if (step.numel() == 0) reject("step is empty; it must have an element");
  EmaTensors tensors;
  for (size_t k = 0; k < kStep; ++k) {
    tensors[k] = &given.read(kEmaNames[k], kFloatDtypes);
    require_dims(kEmaNames[k], *tensors[k], tensors[0]->dims);
  }
  Golden golden;
  for (size_t k = kVar; k < kStep; ++k) golden.outputs.push_back(new_output(kEmaNames[k], *tensors[k]));
  EmaUpdate(a, integer_at(step, 0)).compute(tensors, call.threads, golden.outputs);
  return golden;
}

}  // namespace openaclnn_verify
