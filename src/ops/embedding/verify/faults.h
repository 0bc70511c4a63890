// Faults that kernels of Embedding have: wrong rows of the table.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ops/embedding/verify/sources.h"
#include "verify/index_words.h"

namespace openaclnn_verify {

inline std::vector<Fault> embedding_faults(const GoldenCall& call) {
  std::vector<Fault> faults;
  if (call.tensors[kWeight].dtype == ACL_COMPLEX64 || call.tensors[kWeight].dtype == ACL_COMPLEX128)
    return faults;
  const auto add = [&](const char* name, const char* text, const std::function<int64_t(int64_t)>& row_at) {
    faults.push_back({name, text, [&call, row_at](const Place& place) -> std::optional<FaultyValue> {
                        const Array& weight = call.tensors[kWeight];
                        const int64_t columns = weight.dims[1];
                        const int64_t row = row_at(place.element / columns);
                        if (row < 0 || row >= weight.dims[0]) return std::nullopt;
                        return FaultyValue{weight.get(row * columns + place.element % columns), 0};
                      }});
  };
  const Array& indices = call.tensors[kIndices];
  const int64_t last = indices.numel() - 1;
  if (indices.dtype == ACL_INT64) {
    add("index-width",
        "The device reads the INT64 indices as INT32, so every second index is the upper half of one.",
        [&indices](int64_t n) { return read_as_int32(indices, n); });
  }
  add("indices-shifted-by-one", "Each row is the one of the next index. Check the position in indices.",
      [&indices, last](int64_t n) { return n < last ? whole_number_at(indices, n + 1) : -1; });
  add("indices-shifted-by-one", "Each row is the one of the index before. Check the position in indices.",
      [&indices](int64_t n) { return n > 0 ? whole_number_at(indices, n - 1) : -1; });
  add("rows-shifted-by-one", "Each row is the one after the row that the index names. Indices count from 0.",
      [&indices](int64_t n) { return whole_number_at(indices, n) + 1; });
  add("rows-shifted-by-one", "Each row is the one before the row that the index names. Indices count from 0.",
      [&indices](int64_t n) { return whole_number_at(indices, n) - 1; });
  add("indices-ignored", "Row n of the result is row n of the table: the indices are not used.",
      [](int64_t n) { return n; });
  return faults;
}

}  // namespace openaclnn_verify
