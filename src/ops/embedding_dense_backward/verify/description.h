// The interface of EmbeddingDenseBackward.
#pragma once

#include <stdexcept>
#include <vector>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline TensorShape gradient_of_table(const Arguments& a) {
  const TensorShape& grad = a.tensor("grad");
  if (grad.dims.empty()) throw std::invalid_argument("grad has rank 0; it must be at least 1");
  return {grad.dtype, {a.integer("numWeights"), grad.dims.back()}};
}

inline std::vector<Description> embedding_dense_backward_descriptions() {
  using namespace parameters;
  return {describe("aclnnEmbeddingDenseBackward", aclnnEmbeddingDenseBackwardGetWorkspaceSize,
                   aclnnEmbeddingDenseBackward,
                   {read("grad"), read("indices"), number("numWeights"), number("paddingIdx", "-1"),
                    number("scaleGradByFreq", "false"), written("out", gradient_of_table)})};
}

}  // namespace openaclnn_verify
