// Embedding for fuzzers: any table bits, and any indices.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/embedding/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline OperatorCall embedding_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const aclDataType dtype = in.pick(kEmbeddingDtypes);
  const int64_t rows = in.below(7), columns = in.pick({1, 0, 2, 3, 5, 8, 17});
  Shape index_dims(static_cast<size_t>(in.below(4)));
  for (int64_t& dim : index_dims) dim = in.below(4);
  OperatorCall call;
  call.tensors = {fuzz.input(dtype, {rows, columns}), fuzz.input(in.pick({ACL_INT64, ACL_INT32}), index_dims),
                  fuzz.output(dtype, embedding_out_shape(index_dims, columns))};
  HostTensor &weight = call.tensors[kWeight].host, &indices = call.tensors[kIndices].host;
  const int64_t hostile = in.below(4);
  Random random(in.bits());
  for (int64_t i = 0; i < weight.numel(); ++i) {
    const uint64_t halves[] = {random.bits(), random.bits()};
    std::memcpy(weight.element(i), halves, static_cast<size_t>(element_bytes(dtype)));
  }
  for (int64_t i = 0; i < indices.numel(); ++i)
    indices.set_bits(i, static_cast<uint64_t>(index_near(rows, hostile, random)));
  call.phase1 = embedding_phase1;
  call.phase2 = aclnnEmbedding;
  EmbeddingExpected expected = embedding_expected(weight, indices);
  call.wanted = {{}, {}, std::move(expected.out)};
  // Without columns there is nothing to look up.
  if (expected.wrong > 0 && columns > 0) {
    call.fault = "indices[" + std::to_string(expected.first_wrong) +
                 "] = " + std::to_string(index_at(indices, expected.first_wrong)) + " is outside [0, " +
                 std::to_string(rows) + "); ";
  }
  return call;
}

}  // namespace openaclnn_test
