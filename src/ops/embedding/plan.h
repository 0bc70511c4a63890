// Embedding: the plan that kernels of all devices read.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

// Parameters of the call, in the order of the signature.
enum EmbeddingParameter { kEmbeddingWeight, kEmbeddingIndices, kEmbeddingOut, kEmbeddingParameters };

struct EmbeddingPlan {
  int64_t element_bytes;
  aclDataType index_dtype;
  int64_t table_rows;  // V
  int64_t columns;     // D
  int64_t positions;   // number of indices
  LoopNest<2> nest;    // over the positions in row-major order: offsets of the index and of its output row
  int64_t weight_row_stride, weight_column_stride, out_column_stride;  // elements
  int64_t offsets[kEmbeddingParameters];                               // elements
  // Offsets of the parts of a GPU's workspace.
  int64_t scans;   // faults that its blocks found
  int64_t faults;  // int64: number of faulty indices
};

}  // namespace openaclnn
