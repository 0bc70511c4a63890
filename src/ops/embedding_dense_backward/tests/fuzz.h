// EmbeddingDenseBackward for fuzzers: any gradients, and any indices of every dtype.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/embedding_dense_backward/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline OperatorCall embedding_dense_backward_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const aclDataType index_dtype = in.pick(
      {ACL_INT64, ACL_INT32, ACL_INT16, ACL_INT8, ACL_UINT8, ACL_BOOL, ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE});
  BackwardAttributes attributes;
  attributes.table_rows = in.below(7);
  attributes.padding_row = in.pick({-1, 0, 1, 3, 100});
  attributes.scale = in.chance();
  const int64_t columns = in.pick({1, 0, 2, 3, 5, 8, 17});
  Shape index_dims(static_cast<size_t>(in.below(3)));
  for (int64_t& dim : index_dims) dim = in.below(6);
  Shape grad_dims = index_dims;
  grad_dims.push_back(columns);
  OperatorCall call;
  const aclDataType grad_dtype = fuzz.float_dtype(), out_dtype = fuzz.float_dtype();
  call.tensors = {fuzz.input(grad_dtype, grad_dims), fuzz.input(index_dtype, index_dims),
                  fuzz.output(out_dtype, {attributes.table_rows, columns})};
  const HostTensor& grad = call.tensors[kGrad].host;
  HostTensor& indices = call.tensors[kIndices].host;
  const int64_t hostile = in.below(4);
  const FuzzData data = fuzz.data();
  Random random(in.bits());
  fill(grad, data, random);
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t index = index_near(attributes.table_rows, hostile, random);
    const bool is_real = float_format(index_dtype) != nullptr;
    indices.set_bits(i, !is_real           ? static_cast<uint64_t>(index)
                        : random.chance(8) ? random.bits()
                                           : encode(index_dtype, static_cast<double>(index) + .5));
  }
  call.phase1 = backward_phase1(attributes);
  call.phase2 = aclnnEmbeddingDenseBackward;
  const Occurrences occurrences = find_occurrences(
      attributes, indices.numel(), [&](int64_t n) { return index_number(index_dtype, indices.bits(n)); });
  call.wanted.resize(kBackwardTensors);
  std::vector<float> terms;
  for (const std::vector<int64_t>& positions : occurrences.of_row) {
    for (int64_t column = 0; column < columns; ++column) {
      terms.clear();
      for (const int64_t n : positions) terms.push_back(static_cast<float>(grad.get(n * columns + column)));
      add_bits(call.wanted[kOut], prescribed_bits(out_dtype, terms, attributes.scale),
               element_bytes(out_dtype));
    }
  }
  if (occurrences.out_of_range > 0 && columns > 0 && attributes.table_rows > 0)
    call.fault = "indices[" + std::to_string(occurrences.first_out_of_range) + "] = ";
  return call;
}

}  // namespace openaclnn_test
