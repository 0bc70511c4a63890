// The golden of NsaCompress: the exact weighted sums of each window.
#pragma once

#include <vector>

#include "ops/nsa/compress/verify/oracle.h"
#include "ops/nsa/verify/golden_windows.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

inline Golden nsa_compress_golden(const GoldenCall& call) {
  const GivenTensors given(call, kCompressNames);
  const Array &input = given.read("input", kFloatDtypes), &weight = given.read("weight", kFloatDtypes);
  const openaclnn::WindowShape shape = window_shape(call.arguments, weight);
  require_rank("input", input, 3);
  const Array& output_shape = given.shape_of("output");
  require_rank("output", output_shape, 3);
  const int64_t heads = input.dims[1];
  require_dims("weight", weight, {shape.block, heads});
  require_dims("output", output_shape, {output_shape.dims[0], heads, input.dims[2]});
  const std::vector<int64_t> starts = window_starts_of(call.arguments, "actSeqLenOptional", shape,
                                                       input.dims[0], "output", output_shape.dims[0]);

  GoldenOutput output = new_output("output", {input.dtype, output_shape.dims, nullptr});
  const auto c = static_cast<double>(roundings_of_compressed(shape.block));
  RowSums sums;
  sums.values = &input;
  sums.columns = heads * input.dims[2];
  sums.weights = &weight;
  sums.heads = heads;
  sums.groups = output_shape.dims[0];
  sums.count = [&](int64_t) { return shape.block; };
  sums.terms = [&](int64_t window, int64_t first, std::span<RowTerm> to) {
    for (RowTerm& term : to) {
      term = {starts[static_cast<size_t>(window)] + first, first};
      ++first;
    }
  };
  sums.finish = [&](int64_t window, int64_t first_column, const SumTile& tile) {
    write_sums(tile, c, output, window * sums.columns + first_column);
  };
  sum_rows(sums, call.threads);
  return golden_with(std::move(output));
}

}  // namespace openaclnn_verify
