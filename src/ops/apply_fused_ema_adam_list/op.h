// ApplyFusedEmaAdamList: arguments and plan.
#pragma once

#include <array>

#include "ops/apply_fused_ema_adam/op.h"
#include "ops/apply_fused_ema_adam_list/plan.h"
#include "ops/contract.h"

namespace openaclnn {

struct EmaAdamListArgs {
  std::array<ListArgument, kEmaLists> lists;
  std::array<LateArgument, kEmaListTensors> tensors;  // judged after the tensors of the lists
  EmaAdamAttributes attributes;

  size_t length() const { return lists[kEmaListGrad].handles->elements.size(); }
  bool has_copies() const { return lists[kEmaListCopy].is_given(); }
};

// Checks and plans in one pass over the lists, so that the plan matches the checks even if other threads
// change the tensors.
Result<Call> check_and_plan(const EmaAdamListArgs& args, const PlanContext& context);

}  // namespace openaclnn
