// EmbeddingDenseBackward as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1
// accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/embedding_dense_backward/verify/cases.h"
#include "ops/embedding_dense_backward/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace embedding_dense_backward_schema {

enum Number { kNumWeights, kPaddingIdx };

// The number of elements, as far as 128 bits can represent it.
inline Wide count_of(const Shape& dims) {
  Wide count = 1;
  for (const int64_t dim : dims) {
    if (dim == 0) return 0;
    if (count < INT64_MAX) count *= dim;
  }
  return count;
}

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &grad = a.tensors[kGrad], &indices = a.tensors[kIndices], &out = a.tensors[kOut];
  for (const TensorArgument* tensor : {&grad, &out}) {
    if (!has_dtype(*tensor)) return says_dtype(*tensor);
  }
  if (!has_dtype(indices)) {
    return says_dtype(indices);
  }
  if (grad.dims.empty()) return says_shape(grad);
  const int64_t columns = grad.dims.back();
  const Shape rows(grad.dims.begin(), grad.dims.end() - 1);
  if (columns != 0 && count_of(rows) != count_of(indices.dims)) return says_shape(indices);
  if (out.dims.size() != 2 || out.dims[1] != columns) return says_shape(out);
  return static_cast<uint64_t>(out.dims[0]) == static_cast<uint64_t>(a.numbers[kNumWeights])
             ? ""
             : says_shape(out);
}

// 4 rows of 8 columns into a table of 5 rows.
inline Schema backward_test() {
  Schema test = schema_of(openaclnn_verify::embedding_dense_backward_descriptions()[0],
                          {.tensors = {{ACL_FLOAT, {4, 8}}, {ACL_INT64, {4}}, {ACL_FLOAT, {5, 8}}},
                           .numbers = {5, -1},
                           .flags = {false}});
  test.refusal = refusal;

  const char* const floats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
  const char* const out_shape = "[numWeights, grad's last dim] = ";
  const char* const one_index = "there must be one index per row of grad";
  test.mistakes = {
      bad_dtype("grad FLOAT, FLOAT16, BF16", kGrad, ACL_UINT32, {"grad has dtype ACL_UINT32", floats}),
      bad_dtype("indices: its nine dtypes", kIndices, ACL_UINT32,
                {"indices has dtype ACL_UINT32",
                 "ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64 "
                 "or ACL_BOOL"}),
      bad_dtype("out FLOAT, FLOAT16, BF16", kOut, ACL_UINT32, {"out has dtype ACL_UINT32", floats}),
      bad_dims("grad rank >= 1", kGrad, {}, {"grad has shape []", "rank must be at least 1"}),
      bad_dims("N = numel(indices)", kIndices, {3, 1},
               {"indices has shape [3, 1], 3 elements", "grad has shape [4, 8], 4 rows", one_index}),
      bad_dims("N = numel(indices)", kIndices, {},
               {"indices has shape [], 1 elements", "grad has shape [4, 8], 4 rows", one_index}),
      bad_dims("out rank 2", kOut, {5, 8, 1}, {"out has shape [5, 8, 1]", "rank must be 2"}),
      bad_dims("out rank 2", kOut, {40}, {"out has shape [40]", "rank must be 2"}),
      bad_dims("out dim 1 = D", kOut, {5, 9}, {"out has shape [5, 9]", out_shape}),
      bad_dims("out dim 0 = numWeights", kOut, {4, 8}, {"out has shape [4, 8]", out_shape}),
      bad_number(kShapeRule, "out dim 0 = numWeights", kNumWeights, 6,
                 {"out has shape [5, 8]", std::string(out_shape) + "[6, 8]"}),
  };
  return test;
}

}  // namespace embedding_dense_backward_schema

inline std::vector<Schema> embedding_dense_backward_schemas() {
  return {embedding_dense_backward_schema::backward_test()};
}
}  // namespace openaclnn_test
