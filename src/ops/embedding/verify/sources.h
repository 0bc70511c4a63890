// The row of the table that each row of out is a copy of.
#pragma once

#include "base/text.h"
#include "ops/embedding/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

inline FindSources embedding_sources(const GoldenCall& call) {
  return [&call](const Place& place) {
    const Array &weight = call.tensors[kWeight], &indices = call.tensors[kIndices];
    const int64_t columns = weight.dims[1];
    const int64_t position = place.element / columns, column = place.element % columns;
    const int64_t row = whole_number_at(indices, position);
    ElementSources found;
    found.lines.push_back(openaclnn::text("indices", index_text(position, indices.dims), " = ", row));
    const bool is_real = weight.dtype != ACL_COMPLEX64 && weight.dtype != ACL_COMPLEX128;
    if (is_real && 0 <= row && row < weight.dims[0]) {
      found.lines.push_back(source_line(openaclnn::text("weight[", row, ", ", column, "]"), 1,
                                        [&](int64_t) { return weight.get(row * columns + column); }));
    }
    return found;
  };
}

}  // namespace openaclnn_verify
