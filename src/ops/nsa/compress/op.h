// NsaCompress: arguments and plan of token compression. Each window of tokens becomes one token, their
// weighted sum.
#pragma once

#include <span>

#include "ops/nsa/compress/plan.h"
#include "ops/nsa/windows.h"

namespace openaclnn {

Status check(const CompressionArgs& args, const PlanContext& context);
Result<Call> plan(const CompressionArgs& args, std::span<const Sequence> sequences,
                  const PlanContext& context);
Result<Call> check_and_plan(const CompressionArgs& args, const PlanContext& context);

}  // namespace openaclnn
