// The interface of EmbeddingDenseBackward.
#pragma once

#include <array>
#include <stdexcept>
#include <vector>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "verify/description.h"

namespace openaclnn_verify {

// Indices may also be floating point numbers: their fraction is cut off.
inline constexpr std::array kBackwardIndexDtypes = {ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8,
                                                    ACL_INT16, ACL_INT32,   ACL_INT64,  ACL_BOOL};

inline TensorShape gradient_of_table(const Arguments& a) {
  const TensorShape& grad = a.tensor("grad");
  if (grad.dims.empty()) throw std::invalid_argument("grad has rank 0; it must be at least 1");
  const int64_t rows = a.integer("numWeights");
  if (rows < 0)
    throw std::invalid_argument("numWeights is " + std::to_string(rows) + "; it must not be negative");
  return {grad.dtype, {rows, grad.dims.back()}};
}

inline std::vector<Description> embedding_dense_backward_descriptions() {
  using namespace parameters;
  return {describe("aclnnEmbeddingDenseBackward", aclnnEmbeddingDenseBackwardGetWorkspaceSize,
                   aclnnEmbeddingDenseBackward,
                   {read("grad", kFloatDtypes), read("indices", kBackwardIndexDtypes), number("numWeights"),
                    number("paddingIdx", "-1"), number("scaleGradByFreq", "false"),
                    written("out", kFloatDtypes, gradient_of_table)})};
}

}  // namespace openaclnn_verify
