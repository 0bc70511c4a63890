// The golden of Embedding: the bytes of the rows that the indices name.
#pragma once

#include <algorithm>
#include <cstring>

#include "ops/embedding/verify/description.h"
#include "ops/embedding/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/workers.h"

namespace openaclnn_verify {

inline Golden embedding_golden(const GoldenCall& call) {
  const GivenTensors given(call, kEmbeddingNames);
  const Array &weight = given.read("weight", kEmbeddingDtypes),
              &indices = given.read("indices", kIndexDtypes);
  require_rank("weight", weight, 2);
  const int64_t table_rows = weight.dims[0], columns = weight.dims[1];
  Shape dims = indices.dims;
  dims.push_back(columns);
  Array shape = given.shape_of("out");
  require_dims("out", shape, dims);
  shape.dtype = weight.dtype;

  const bool is_real = weight.dtype != ACL_COMPLEX64 && weight.dtype != ACL_COMPLEX128;
  GoldenOutput out = {"out", 0, weight.dtype, dims, {}, {}, {}};
  if (is_real) out = new_output("out", shape);
  const int64_t row_bytes = columns * element_bytes(weight.dtype);
  out.copied.resize(static_cast<size_t>(shape.bytes()));
  if (out.copied.empty()) return golden_with(std::move(out));

  // Rows of wrong indices stay zero.
  constexpr int64_t kElementsAtOnce = 65536;
  const int64_t grain = std::max<int64_t>(kElementsAtOnce / columns, 1);
  for_each_range(indices.numel(), grain, call.threads, [&](int64_t begin, int64_t end) {
    for (int64_t position = begin; position < end; ++position) {
      const int64_t row = integer_at(indices, position);
      if (row < 0 || row >= table_rows) continue;
      std::memcpy(out.copied.data() + position * row_bytes, weight.data.get() + row * row_bytes,
                  static_cast<size_t>(row_bytes));
      if (!is_real) continue;
      weight.widen(row * columns, std::span(out.exact).subspan(static_cast<size_t>(position * columns),
                                                               static_cast<size_t>(columns)));
    }
  });
  return golden_with(std::move(out));
}

}  // namespace openaclnn_verify
