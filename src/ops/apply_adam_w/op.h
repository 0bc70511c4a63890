// ApplyAdamW: arguments and plan of both versions.
#pragma once

#include <array>

#include "ops/apply_adam_w/plan.h"
#include "ops/contract.h"

namespace openaclnn {

struct AdamWArgs {
  AdamWVersion version;
  std::array<Argument, kAdamWOperands> tensors;  // the maximum is optional
  std::array<Argument, kAdamWScalars> scalars;   // first version
  Argument step;                                 // second version
  AdamWNumbers numbers;                          // second version
  bool amsgrad, maximize;

  const Argument& operator[](AdamWOperand operand) const { return tensors[operand]; }
};

Status check(const AdamWArgs& args, const PlanContext& context);
Result<Call> plan(const AdamWArgs& args, const PlanContext& context);

}  // namespace openaclnn
