// Goldens that are sums of rows: biases, tables of embeddings, compressed windows. Every result row is a group of rows of
// one tensor, each with an optional weight.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "verify/array.h"
#include "verify/golden.h"
#include "verify/golden/sum_tiles.h"

namespace openaclnn_verify {

struct RowTerm {
  int64_t row, weight_row;
};

struct RowSums {
  const Array* values = nullptr;  // [rows, columns]
  int64_t columns = 0;
  const Array* weights = nullptr;  // [weight rows, heads]; nullptr: all weights are 1
  int64_t heads = 1;               // each has columns / heads columns
  int64_t groups = 0;
  std::function<int64_t(int64_t group)> count;  // of the terms
  // Writes terms from number `first` on. Their rows must exist.
  std::function<void(int64_t group, int64_t first, std::span<RowTerm> to)> terms;
  // Receives the sums of columns from `first_column` on.
  std::function<void(int64_t group, int64_t first_column, const SumTile& sums)> finish;
};

void sum_rows(const RowSums& sums, int threads);

// Writes the sums and the bounds c * 2^-24 * S of a tile to elements of the output from `first` on.
void write_sums(const SumTile& tile, double c, GoldenOutput& output, int64_t first);

}  // namespace openaclnn_verify
