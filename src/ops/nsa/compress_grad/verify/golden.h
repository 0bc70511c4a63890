// The golden of NsaCompressGrad: the exact sums of both gradients.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/nsa/compress_grad/verify/golden_weights.h"
#include "ops/nsa/compress_grad/verify/oracle.h"
#include "ops/nsa/verify/golden_windows.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

// The windows that contain a token, ascending: they are neighbours.
struct CoveringWindows {
  int64_t first, count;
};
inline CoveringWindows windows_of_token(const std::vector<int64_t>& starts, int64_t block, int64_t token) {
  const auto end = std::upper_bound(starts.begin(), starts.end(), token);
  const auto begin = std::upper_bound(starts.begin(), end, token - block);
  return {begin - starts.begin(), end - begin};
}

// d input[t] = sum over the windows j of token t of weight[t - start of j] * outputGrad[j].
inline GoldenOutput input_grad_golden(const GoldenCall& call, const CompressGradTensors& tensors) {
  const Array &grad = tensors.output_grad, &input = tensors.input;
  GoldenOutput output = new_output("inputGradOut", {input.dtype, input.dims, nullptr});
  const int64_t heads = input.dims[1], block = tensors.weight.dims[0];
  RowSums sums;
  sums.values = &grad;
  sums.columns = heads * input.dims[2];
  sums.weights = &tensors.weight;
  sums.heads = heads;
  sums.groups = input.dims[0];
  sums.count = [&](int64_t token) { return windows_of_token(tensors.starts, block, token).count; };
  sums.terms = [&](int64_t token, int64_t first, std::span<RowTerm> to) {
    int64_t window = windows_of_token(tensors.starts, block, token).first + first;
    for (RowTerm& term : to) {
      term = {window, token - tensors.starts[static_cast<size_t>(window)]};
      ++window;
    }
  };
  sums.finish = [&](int64_t token, int64_t first_column, const SumTile& tile) {
    const int64_t count = sums.count(token);
    if (count == 0) return;  // +0 is prescribed
    write_sums(tile, input_grad_roundings(count), output, token * sums.columns + first_column);
  };
  sum_rows(sums, call.threads);
  return output;
}

inline Golden nsa_compress_grad_golden(const GoldenCall& call) {
  const GivenTensors given(call, kCompressGradNames);
  CompressGradTensors tensors = {given.read("outputGrad", kFloatDtypes),
                                 given.read("input", kFloatDtypes),
                                 given.read("weight", kFloatDtypes),
                                 {}};
  const openaclnn::WindowShape shape = window_shape(call.arguments, tensors.weight);
  require_rank("input", tensors.input, 3);
  require_rank("outputGrad", tensors.output_grad, 3);
  const Shape& dims = tensors.input.dims;
  require_dims("weight", tensors.weight, {shape.block, dims[1]});
  const int64_t windows = tensors.output_grad.dims[0];
  require_dims("outputGrad", tensors.output_grad, {windows, dims[1], dims[2]});
  tensors.starts =
      window_starts_of(call.arguments, "actSeqLenOptionalOptional", shape, dims[0], "outputGrad", windows);
  return golden_with(input_grad_golden(call, tensors), weight_grad_golden(call, tensors));
}

}  // namespace openaclnn_verify
