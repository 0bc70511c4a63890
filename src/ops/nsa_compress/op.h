// NsaCompress: arguments and plan of token compression: every window of tokens becomes one token, their weighted sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cpu/dispatch.h"
#include "ops/nsa_windows.h"

namespace openaclnn {

// Parameters of the call, in the order of the signature.
enum NsaCompressParameter { kCompressInput, kCompressWeight, kCompressOutput, kCompressParameters };

// Followed by its sequences (plan_items).
struct NsaCompressPlan {
  aclDataType dtype;
  CompressionSizes sizes;
  std::array<int64_t, 3> input_strides, output_strides;  // elements
  std::array<int64_t, 2> weight_strides;                 // elements
  std::array<int64_t, kCompressParameters> offsets;      // elements
  int64_t weights;                                       // float[L, N] in the workspace: the weights, widened
};

Status check(const CompressionArgs& args);
Result<Call> plan(const CompressionArgs& args, std::span<const Sequence> sequences);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_nsa_compress)
