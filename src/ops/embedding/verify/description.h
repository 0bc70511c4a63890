// The interface of Embedding.
#pragma once

#include <vector>

#include "aclnnop/aclnn_embedding.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline TensorShape gathered_rows(const Arguments& a) {
  Shape dims = a.tensor("indices").dims;
  dims.push_back(a.dims_of_rank("weight", 2)[1]);
  return {a.tensor("weight").dtype, dims};
}

inline std::vector<Description> embedding_descriptions() {
  using namespace parameters;
  return {describe("aclnnEmbedding", aclnnEmbeddingGetWorkspaceSize, aclnnEmbedding,
                   {read("weight"), read("indices"), written("out", gathered_rows)})};
}

}  // namespace openaclnn_verify
