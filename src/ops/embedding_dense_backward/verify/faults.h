// Faults that kernels of EmbeddingDenseBackward have: padding, frequencies and wrong rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/embedding_dense_backward/verify/sources.h"
#include "verify/index_words.h"

namespace openaclnn_verify {

inline std::vector<Fault> embedding_dense_backward_faults(const GoldenCall& call) {
  std::vector<Fault> faults;
  const BackwardAttributes given = recorded_backward_attributes(call.arguments);
  const Array& indices = call.tensors[kIndices];
  const auto row = [&indices](int64_t n) { return whole_number_at(indices, n); };
  // A reading lists all positions, so it is made when the fault is first used.
  const auto add = [&](const char* name, std::string text, const BackwardAttributes& a, const auto& row_at) {
    const auto find = [&call, a, row_at, made = FindSources()](const Place& place) mutable {
      if (!made) made = backward_sources(std::make_shared<const BackwardReading>(call, a, row_at));
      return made(place);
    };
    faults.push_back(fault_of_terms(name, std::move(text), find));
  };
  BackwardAttributes changed = given;
  if (0 <= given.padding_row && given.padding_row < given.table_rows) {
    changed.padding_row = -1;
    add("padding-row-not-skipped",
        "The row of paddingIdx has gradients. Skip every index that equals paddingIdx, and write zeros to "
        "its row.",
        changed, row);
  }
  if (given.padding_row != 0) {
    changed = given;
    changed.padding_row = 0;
    add("row-0-skipped",
        given.padding_row < 0 ? "Row 0 has no gradients, as if it were padding. A negative paddingIdx means "
                                "that no row is padding."
                              : "Row 0 is treated as padding in place of the row of paddingIdx.",
        changed, row);
  }
  changed = given;
  changed.scale = !given.scale;
  add(given.scale ? "frequency-scaling-missing" : "frequency-scaling-applied",
      given.scale
          ? "The sums are not divided by how often their index occurs. scaleGradByFreq requires it."
          : "The sums are divided by how often their index occurs, although scaleGradByFreq is false.",
      changed, row);
  add("rows-shifted-by-one", "The gradients are one row too low in the table. Indices count from 0.", given,
      [row](int64_t n) { return row(n) + 1; });
  add("rows-shifted-by-one", "The gradients are one row too high in the table. Indices count from 0.", given,
      [row](int64_t n) { return row(n) - 1; });
  if (indices.dtype == ACL_INT64) {
    add("index-width",
        "The device reads the INT64 indices as INT32, so every second index is the upper half of one.", given,
        [&indices](int64_t n) { return read_as_int32(indices, n); });
  }
  const int64_t last = indices.numel() - 1;
  add("last-position-missing",
      "The gradient of the last position is missing. Check the end of the loop over positions.", given,
      [row, last](int64_t n) { return n == last ? int64_t{-1} : row(n); });
  add("first-position-missing",
      "The gradient of the first position is missing. Check the start of the loop over positions.", given,
      [row](int64_t n) { return n == 0 ? int64_t{-1} : row(n); });
  return faults;
}

}  // namespace openaclnn_verify
