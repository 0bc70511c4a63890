// Embedding: arguments and plan of the table lookup out[i, :] = weight[indices[i], :].
#pragma once

#include "ops/contract.h"
#include "ops/embedding/plan.h"

namespace openaclnn {

struct EmbeddingArgs {
  Argument weight, indices, out;
};

Status check(const EmbeddingArgs& args, const PlanContext& context);
Result<Call> plan(const EmbeddingArgs& args, const PlanContext& context);

}  // namespace openaclnn
