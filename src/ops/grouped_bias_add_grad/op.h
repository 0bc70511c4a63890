// GroupedBiasAddGrad: arguments and plan of the gradient of a bias that every group of rows has of its own.
#pragma once

#include <cstdint>

#include "cpu/dispatch.h"
#include "ops/contract.h"
#include "ops/grouped_bias_add_grad/plan.h"

namespace openaclnn {

struct GroupedBiasArgs {
  Argument grad_y;
  Argument group_index;  // optional
  int64_t group_index_type;
  Argument out;
};

Status check(const GroupedBiasArgs& args);
Result<Call> plan(const GroupedBiasArgs& args);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_grouped_bias_add_grad)
