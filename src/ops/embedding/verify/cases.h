// Embedding as data: its named cases.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_embedding.h"
#include "ops/embedding/verify/description.h"
#include "ops/embedding/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"

namespace openaclnn_verify {

inline aclnnStatus embedding_phase1(Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
  return aclnnEmbeddingGetWorkspaceSize(t[kWeight], t[kIndices], t[kOut], workspace_bytes, executor);
}

inline Shape embedding_out_shape(Shape index_dims, int64_t columns) {
  index_dims.push_back(columns);
  return index_dims;
}

inline Case embedding_case(aclDataType dtype, aclDataType index_dtype, int64_t table_rows, int64_t columns,
                           const Shape& index_dims, Layout layout, const std::string& name) {
  const int64_t positions = count_elements(index_dims);
  Case made;
  made.name = "Embedding " + name;
  made.tensors = {
      {kEmbeddingNames[kWeight], dtype, {table_rows, columns}, Role::input, Values::raw_bits, 0, 0, layout},
      {kEmbeddingNames[kIndices], index_dtype, index_dims, Role::input, Values::whole, 0, table_rows - 1,
       layout},
      {kEmbeddingNames[kOut], dtype, embedding_out_shape(index_dims, columns), Role::output, Values::none, 0,
       0, layout},
  };
  made.phase1 = embedding_phase1;
  made.phase2 = aclnnEmbedding;
  made.minimal_bytes = (std::min(positions, table_rows) + positions) * columns * element_bytes(dtype) +
                       positions * element_bytes(index_dtype);
  made.judge = judge_embedding;
  return made;
}

inline std::vector<Case> embedding_cases() {
  std::vector<Case> cases;
  for (const aclDataType dtype : kEmbeddingDtypes) {
    const int64_t columns = 4096 / element_bytes(dtype) + 3;
    cases.push_back(embedding_case(dtype, ACL_INT64, 300, columns, {16, 13}, Layout::contiguous,
                                   std::string(dtype_name(dtype)) + " rows of 4 KiB"));
  }
  const auto add = [&](const char* what, int64_t rows, int64_t columns, const Shape& index_dims,
                       Layout layout) {
    cases.push_back(embedding_case(ACL_FLOAT, ACL_INT32, rows, columns, index_dims, layout,
                                   std::string("FLOAT ") + what));
  };
  add("one wide row", 2, 200003, {1}, Layout::contiguous);
  add("a scalar index", 5, 64, {}, Layout::contiguous);
  add("many narrow rows", 1000, 3, {70, 1001}, Layout::contiguous);
  add("padded rows", 100, 129, {40, 31}, Layout::padded);
  add("rotated views, negative strides", 100, 67, {29, 41}, Layout::mixed);
  return cases;
}

// Makes a random case with at most about `elements` elements.
inline Case embedding_random_case(Draw& draw, int64_t elements) {
  const aclDataType dtype = draw.pick(kEmbeddingDtypes);
  const aclDataType index_dtype = draw.chance(2) ? ACL_INT32 : ACL_INT64;
  const Shape index_dims = draw.shape(std::min<int64_t>(elements, 60));
  const int64_t columns = draw.between(1, std::max<int64_t>(1, elements / count_elements(index_dims)));
  const Layout layout = draw.layout();
  const std::string name = std::to_string(draw.seed());
  const int64_t rows = draw.between(1, 50);
  return embedding_case(dtype, index_dtype, rows, columns, index_dims, layout, name);
}

// For measuring errors, although a copy has none: at least `elements` elements per dtype.
inline std::vector<Case> embedding_numerics_cases(int64_t elements) {
  constexpr int64_t kColumns = 401, kPositions = 900;
  std::vector<Case> cases;
  for (const aclDataType dtype : kEmbeddingDtypes) {
    for (int64_t made = 0; made < elements; made += kPositions * kColumns) {
      cases.push_back(
          embedding_case(dtype, ACL_INT32, 40, kColumns, {kPositions}, Layout::contiguous,
                         std::string(dtype_name(dtype)) + " copies " + std::to_string(cases.size())));
    }
  }
  return cases;
}

// The judge of a recorded call.
inline JudgeResults embedding_recorded_judge(const RecordedCall&) { return judge_embedding; }

}  // namespace openaclnn_verify
