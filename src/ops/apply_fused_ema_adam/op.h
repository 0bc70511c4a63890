// ApplyFusedEmaAdam: arguments and plan.
#pragma once

#include <string>

#include "ops/apply_fused_ema_adam/plan.h"
#include "ops/contract.h"

namespace openaclnn {

struct EmaAdamArgs {
  Argument grad, var, m, v, s, step;
  EmaAdamAttributes attributes;
};

// Also used by the list operator, which has the same attributes and the same fault.
Status check_mode(const EmaAdamAttributes& attributes);
std::string describe_ema_adam_fault(const Fault& fault);

Status check(const EmaAdamArgs& args, const PlanContext& context);
Result<Call> plan(const EmaAdamArgs& args, const PlanContext& context);

}  // namespace openaclnn
