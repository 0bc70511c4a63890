// Embedding as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1 accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/embedding/verify/cases.h"
#include "ops/embedding/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace embedding_schema {

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &weight = a.tensors[kWeight], &indices = a.tensors[kIndices], &out = a.tensors[kOut];
  if (!has_dtype(weight)) {
    return says_dtype(weight);
  }
  if (!has_dtype(indices)) return says_dtype(indices);
  if (out.dtype != weight.dtype) return says_dtype(out);
  if (weight.dims.size() != 2) return says_shape(weight);
  if (indices.dims.size() == 8) return "indices has rank 8";
  return out.dims == embedding_out_shape(indices.dims, weight.dims[1]) ? "" : says_shape(out);
}

// 4 rows of 8 columns from a table of 5 rows.
inline Schema embedding_test() {
  Schema test = schema_of(openaclnn_verify::embedding_descriptions()[0],
                          {.tensors = {{ACL_FLOAT, {5, 8}}, {ACL_INT64, {4}}, {ACL_FLOAT, {4, 8}}}});
  test.refusal = refusal;
  test.mistakes = {
      // Lists first, then their relation.
      bad_dtype("weight: its twelve dtypes", kWeight, ACL_UINT16,
                {"weight has dtype ACL_UINT16",
                 "ACL_DOUBLE, ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT64, ACL_INT32, ACL_INT16, ACL_INT8, "
                 "ACL_UINT8, ACL_BOOL, ACL_COMPLEX64 or ACL_COMPLEX128"}),
      bad_dtype("indices INT32 or INT64", kIndices, ACL_INT16,
                {"indices has dtype ACL_INT16; it must be ACL_INT32 or ACL_INT64"}),
      bad_dtype("out = weight", kOut, ACL_FLOAT16,
                {"out has dtype ACL_FLOAT16 but weight has dtype ACL_FLOAT; they must be equal"}),
      bad_dims("weight rank 2", kWeight, {5, 8, 1}, {"weight has shape [5, 8, 1]; its rank must be 2"}),
      bad_dims("weight rank 2", kWeight, {40}, {"weight has shape [40]; its rank must be 2"}),
      bad_dims("out rank = indices rank + 1", kOut, {32}, {"out has shape [32]; its rank must be 2"}),
      bad_dims("out rank = indices rank + 1", kOut, {4, 8, 1}, {"out has shape [4, 8, 1]", "must be 2"}),
      bad_dims("out dims = indices, D", kOut, {4, 9},
               {"out has shape [4, 9]; it must be the shape of indices", "= [4, 8]"}),
      bad_dims("out dims = indices, D", kOut, {5, 8},
               {"out has shape [5, 8]; it must be the shape of indices", "= [4, 8]"}),
  };
  return test;
}

}  // namespace embedding_schema

inline std::vector<Schema> embedding_schemas() { return {embedding_schema::embedding_test()}; }
}  // namespace openaclnn_test
