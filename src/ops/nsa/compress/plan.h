// NsaCompress: the plan that kernels of all devices read.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "ops/nsa/plan.h"

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
  int64_t weights;    // float[N, L] in the workspace, on a CPU: the widened weights
  int64_t sequences;  // Sequence[sizes.sequences] in the workspace, on a GPU
};

}  // namespace openaclnn
