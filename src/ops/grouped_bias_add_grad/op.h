// GroupedBiasAddGrad: arguments and plan of the gradient of a bias per group of rows.
#pragma once

#include <cstdint>

#include "ops/contract.h"
#include "ops/grouped_bias_add_grad/plan.h"

namespace openaclnn {

struct GroupedBiasArgs {
  Argument grad_y;
  Argument group_index;  // optional
  int64_t group_index_type;
  Argument out;
};

Status check(const GroupedBiasArgs& args, const PlanContext& context);
Result<Call> plan(const GroupedBiasArgs& args, const PlanContext& context);

}  // namespace openaclnn
