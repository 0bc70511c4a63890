// NsaCompressGrad: arguments and plan of the gradients of token compression.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cpu/dispatch.h"
#include "ops/nsa_compress_grad/plan.h"
#include "ops/nsa_windows.h"

namespace openaclnn {

struct CompressionGradArgs {
  CompressionArgs forward;  // compressed: outputGrad
  Argument input_grad;      // [T, N, D]
  Argument weight_grad;     // [L, N]
};

Status check(const CompressionGradArgs& args);
Result<Call> plan(const CompressionGradArgs& args, std::span<const Sequence> sequences);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_nsa_compress_grad)
