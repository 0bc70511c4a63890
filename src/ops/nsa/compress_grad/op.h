// NsaCompressGrad: arguments and plan of the gradients of token compression.
#pragma once

#include <span>

#include "ops/nsa/compress_grad/plan.h"
#include "ops/nsa/windows.h"

namespace openaclnn {

struct CompressionGradArgs {
  CompressionArgs forward;  // its compressed tensor is outputGrad
  Argument input_grad;      // [T, N, D]
  Argument weight_grad;     // [L, N]
};

Status check(const CompressionGradArgs& args, const PlanContext& context);
Result<Call> plan(const CompressionGradArgs& args, std::span<const Sequence> sequences,
                  const PlanContext& context);
Result<Call> check_and_plan(const CompressionGradArgs& args, const PlanContext& context);

}  // namespace openaclnn
