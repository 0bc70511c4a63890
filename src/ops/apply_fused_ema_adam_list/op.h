// ApplyFusedEmaAdamList: arguments and plan.
#pragma once

#include <array>
#include <memory>

#include "ops/apply_fused_ema_adam/op.h"
#include "ops/apply_fused_ema_adam_list/plan.h"
#include "ops/contract.h"
#include "runtime/tensor.h"

namespace openaclnn {

struct EmaAdamListArgs {
  std::array<std::shared_ptr<const HandleList>, kEmaLists> lists;  // nullptr if not given
  std::array<Argument, kEmaListTensors> tensors;
  Status tensors_found;  // the lookup result of these handles, checked after the tensors of the lists
  EmaAdamAttributes attributes;

  size_t length() const { return lists[kEmaListGrad]->elements.size(); }
  bool has_copies() const { return lists[kEmaListCopy] != nullptr; }
};

// Checks and plans in one pass over the lists, so that the plan matches the checks even if other threads
// change the tensors.
Result<Call> check_and_plan(const EmaAdamListArgs& args, const PlanContext& context);

}  // namespace openaclnn
