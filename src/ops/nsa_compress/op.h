// NsaCompress: arguments and plan of token compression: every window of tokens becomes one token, their weighted sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cpu/dispatch.h"
#include "ops/nsa_compress/plan.h"
#include "ops/nsa_windows.h"

namespace openaclnn {

Status check(const CompressionArgs& args);
Result<Call> plan(const CompressionArgs& args, std::span<const Sequence> sequences);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_nsa_compress)
