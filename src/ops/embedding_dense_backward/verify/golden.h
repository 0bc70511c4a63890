// The golden of EmbeddingDenseBackward: the exact sums of the rows of grad that belong to each row of the table.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ops/embedding_dense_backward/verify/description.h"
#include "ops/embedding_dense_backward/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

// The positions of each row of the table, in ascending order: those of row r are positions[ends[r]] to positions[ends[r + 1] - 1].
struct RowPositions {
  std::vector<int64_t> ends, positions;
};

// Calls visit(position, row) for every index that takes part.
template <class Visit>
void for_each_row(const Array& indices, const BackwardAttributes& a, const Visit& visit) {
  std::array<double, 1024> numbers;
  const bool is_wide = indices.dtype == ACL_INT64, is_bool = indices.dtype == ACL_BOOL;
  for (int64_t first = 0; first < indices.numel(); first += static_cast<int64_t>(numbers.size())) {
    const int64_t count = std::min<int64_t>(indices.numel() - first, static_cast<int64_t>(numbers.size()));
    if (!is_wide) indices.widen(first, std::span(numbers).first(static_cast<size_t>(count)));
    for (int64_t k = 0; k < count; ++k) {
      int64_t row;
      if (is_wide) {
        row = integer_at(indices, first + k);
      } else {
        const double number = std::trunc(numbers[static_cast<size_t>(k)]);
        if (!(number >= 0 && number < 0x1p63)) continue;
        row = is_bool ? number != 0 : static_cast<int64_t>(number);
      }
      if (row >= 0 && row < a.table_rows && row != a.padding_row) visit(first + k, row);
    }
  }
}

inline RowPositions positions_of_rows(const Array& indices, const BackwardAttributes& a) {
  RowPositions found;
  // While positions are written, the end of a row is at its number plus 1.
  found.ends.resize(static_cast<size_t>(a.table_rows) + 2);
  for_each_row(indices, a, [&](int64_t, int64_t row) { ++found.ends[static_cast<size_t>(row) + 2]; });
  for (size_t row = 2; row < found.ends.size(); ++row) found.ends[row] += found.ends[row - 1];
  found.positions.resize(static_cast<size_t>(found.ends.back()));
  for_each_row(indices, a, [&](int64_t position, int64_t row) {
    found.positions[static_cast<size_t>(found.ends[static_cast<size_t>(row) + 1]++)] = position;
  });
  return found;
}

// Divides the sums of a row by the number of its terms.
inline void write_means(const SumTile& tile, double count, double c, GoldenOutput& out, int64_t first) {
  for (int64_t column = 0; column < tile.columns; ++column) {
    const DoubleDouble sum = tile.sum(column);
    const double exact = std::isfinite(sum.high) ? (sum / count).high : sum.high;
    const auto at = static_cast<size_t>(first + column);
    out.exact[at] = exact;
    out.bound[at] = error_bound(c, tile.magnitude[static_cast<size_t>(column)] / count);
  }
}

inline Golden embedding_dense_backward_golden(const GoldenCall& call) {
  const GivenTensors given(call, kBackwardNames);
  for (const char* const name : {"numWeights", "paddingIdx", "scaleGradByFreq"})
    integer_of(call.arguments, name);
  const BackwardAttributes a = recorded_backward_attributes(call.arguments);
  if (a.table_rows < 0)
    reject("numWeights is " + std::to_string(a.table_rows) + "; it must be between 0 and 2^63 - 1");
  const Array &grad = given.read("grad", kFloatDtypes),
              &indices = given.read("indices", kBackwardIndexDtypes);
  if (grad.dims.empty()) reject("grad has rank 0; it must be at least 1");
  const int64_t columns = grad.dims.back();
  const Array& shape = given.shape_of("out");
  require_dims("out", shape, {a.table_rows, columns});
  if (float_format(shape.dtype) == nullptr) reject("out must be FLOAT, FLOAT16 or BF16");
  if (columns > 0 && indices.numel() != grad.numel() / columns) {
    reject("indices has shape " + dims_text(indices.dims) + "; grad with shape " + dims_text(grad.dims) +
           " needs " + std::to_string(grad.numel() / columns) + " indices");
  }

  GoldenOutput out = new_output("out", shape);
  if (out.exact.empty()) return golden_with(std::move(out));
  const RowPositions found = positions_of_rows(indices, a);
  const auto begin = [&](int64_t row) { return found.ends[static_cast<size_t>(row)]; };
  RowSums sums;
  sums.values = &grad;
  sums.columns = columns;
  sums.groups = a.table_rows;
  sums.count = [&](int64_t row) { return begin(row + 1) - begin(row); };
  sums.terms = [&](int64_t row, int64_t first, std::span<RowTerm> to) {
    for (RowTerm& term : to) term = {found.positions[static_cast<size_t>(begin(row) + first++)], 0};
  };
  sums.finish = [&](int64_t row, int64_t first_column, const SumTile& tile) {
    const int64_t count = sums.count(row), first = row * columns + first_column;
    if (count == 0) return;  // +0 is prescribed
    const auto c = static_cast<double>(backward_bound(count, a.scale));
    if (a.scale) {
      write_means(tile, static_cast<double>(count), c, out, first);
    } else {
      write_sums(tile, c, out, first);
    }
  };
  sum_rows(sums, call.threads);
  return golden_with(std::move(out));
}

}  // namespace openaclnn_verify
