// The interface of Embedding.
#pragma once

#include <array>
#include <vector>

#include "aclnnop/aclnn_embedding.h"
#include "verify/description.h"

namespace openaclnn_verify {

// Rows are copied, so only the sizes of these dtypes matter.
inline constexpr std::array kEmbeddingDtypes = {ACL_DOUBLE, ACL_FLOAT, ACL_FLOAT16,   ACL_BF16,
                                                ACL_INT64,  ACL_INT32, ACL_INT16,     ACL_INT8,
                                                ACL_UINT8,  ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128};

inline TensorShape gathered_rows(const Arguments& a) {
  Shape dims = a.tensor("indices").dims;
  dims.push_back(a.dims_of_rank("weight", 2)[1]);
  return {a.tensor("weight").dtype, dims};
}

inline std::vector<Description> embedding_descriptions() {
  using namespace parameters;
  return {describe("aclnnEmbedding", aclnnEmbeddingGetWorkspaceSize, aclnnEmbedding,
                   {read("weight", kEmbeddingDtypes), read("indices", kIndexDtypes),
                    written("out", dtype_of("weight"), gathered_rows)})};
}

}  // namespace openaclnn_verify
