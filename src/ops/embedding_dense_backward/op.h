// EmbeddingDenseBackward: arguments and plan of the gradient of a table lookup.
#pragma once

#include <cstdint>

#include "ops/contract.h"
#include "ops/embedding_dense_backward/plan.h"

namespace openaclnn {

struct EmbeddingBackwardArgs {
  Argument grad, indices, out;
  uint64_t num_weights;
  uint64_t padding_index;
  bool scale_by_frequency;
};

Status check(const EmbeddingBackwardArgs& args, const PlanContext& context);
Result<Call> plan(const EmbeddingBackwardArgs& args, const PlanContext& context);

}  // namespace openaclnn
