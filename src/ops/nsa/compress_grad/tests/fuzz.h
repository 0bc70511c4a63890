// NsaCompressGrad for fuzzers: any gradients, tokens and weights, and sequences of every length.
#pragma once

#include "fuzz/operator_call.h"
#include "fuzz/windows.h"
#include "ops/nsa/compress_grad/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline OperatorCall nsa_compress_grad_fuzz_call(Fuzz fuzz) {
  const aclDataType dtype = fuzz.float_dtype();
  const FuzzedWindows sizes(fuzz.in);
  const Shape dims = {sizes.tokens, sizes.heads, sizes.columns};
  const Shape weight_dims = {sizes.attributes.block_size, sizes.heads};
  OperatorCall call;
  call.tensors = {fuzz.input(dtype, {sizes.windows, sizes.heads, sizes.columns}), fuzz.input(dtype, dims),
                  fuzz.input(dtype, weight_dims), fuzz.output(dtype, dims), fuzz.output(dtype, weight_dims)};
  const FuzzData data = fuzz.data();
  Random random(fuzz.in.bits());
  std::vector<HostTensor> tensors;
  for (const FuzzTensor& tensor : call.tensors) tensors.push_back(tensor.host.alias());
  for (const CompressGradTensor k : {kCgOutputGrad, kCgInput, kCgWeight}) fill(tensors[k], data, random);
  call.phase1 = compress_grad_phase1(sizes.attributes);
  call.phase2 = aclnnNsaCompressGrad;
  call.wanted.resize(kCompressGradTensors);
  for_each_input_grad(sizes.attributes, tensors, [&](int64_t, const std::vector<WeightedTerm>& terms) {
    add_bits(call.wanted[kCgInputGrad], prescribed_input_grad(dtype, terms), element_bytes(dtype));
  });
  // The implementation chooses the order of weightGrad's additions. It guarantees the bound, for finite sums.
  call.judged = kCgWeightGrad;
  call.judge = [attributes = sizes.attributes, tensors, dtype]() -> std::string {
    OutputRecord record("weightGradOut", dtype);
    int64_t element = 0;
    for (const ExactSum& exact : exact_weight_grad(attributes, tensors)) {
      // Beyond FLOAT's range, an intermediate sum of products may be infinite although the result is finite.
      const double got = tensors[kCgWeightGrad].get(element++);
      if (exact.magnitude < 0x1p127L) {
        record.compare(got, exact.value, 260, exact.magnitude + 0x1p-125L);
      }
    }
    return record.failures() > 0 ? record.messages() : "";
  };
  return call;
}

}  // namespace openaclnn_test
