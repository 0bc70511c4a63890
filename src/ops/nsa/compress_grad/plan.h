// NsaCompressGrad: the plan that kernels of all devices read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "base/checked.h"
#include "base/loop_nest.h"
#include "ops/nsa/plan.h"

namespace openaclnn {

// Parameters of the call, in the order of the signature.
enum NsaCompressGradParameter {
  kOutputGrad,
  kGradInput,
  kGradWeight,
  kInputGrad,
  kWeightGrad,
  kCompressGradParameters
};

// How many windows cover a token, if all of them exist.
inline int64_t most_windows_of_token(const CompressionSizes& sizes) {
  return ceil_div(sizes.block_size, sizes.stride);
}
// Tokens of a window before the next one begins.
inline int64_t weight_phases(const CompressionSizes& sizes) {
  return std::min(sizes.block_size, sizes.stride);
}

// On a GPU a stretch has at most so many columns of each head: wider heads have several stretches of the
// same windows, because a thread adds the products of its columns in fp32.
inline constexpr int64_t kColumnsOfStretch = 64 * 1024;

// Followed by its sequences (plan_items).
struct NsaCompressGradPlan {
  aclDataType dtype;
  bool only_zeros;  // there is nothing to sum: non-empty outputs become zeros
  CompressionSizes sizes;
  std::array<int64_t, 3> output_grad_strides, input_strides, input_grad_strides;  // elements
  std::array<int64_t, 2> weight_strides, weight_grad_strides;                     // elements
  std::array<int64_t, kCompressGradParameters> offsets;                           // elements
  LoopNest<1> input_grad_nest, weight_grad_nest;                                  // all of the outputs
  // Stretches of tokens whose sums of weightGrad are added at the end. They are part of the order of
  // additions, so their number depends only on shapes.
  int64_t stretches;
  int64_t windows_of_stretch;  // on a GPU, where stretches consist of windows and columns
  int64_t weights;             // float[weight_phases, N, most_windows_of_token] in the workspace, on a CPU
  int64_t sequences;           // Sequence[sizes.sequences] in the workspace, on a GPU
  int64_t weight_sums;         // double[stretches, L, N] in the workspace; on a GPU [stretches, N, L]
};

}  // namespace openaclnn
