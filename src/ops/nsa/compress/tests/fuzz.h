// NsaCompress for fuzzers: any tokens and weights, and sequences of every length.
#pragma once

#include "fuzz/operator_call.h"
#include "fuzz/windows.h"
#include "ops/nsa/compress/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline OperatorCall nsa_compress_fuzz_call(Fuzz fuzz) {
  const aclDataType dtype = fuzz.float_dtype();
  const FuzzedWindows sizes(fuzz.in);
  const Shape dims = {sizes.tokens, sizes.heads, sizes.columns};
  OperatorCall call;
  call.tensors = {fuzz.input(dtype, dims), fuzz.input(dtype, {sizes.attributes.block_size, sizes.heads}),
                  fuzz.output(dtype, {sizes.windows, sizes.heads, sizes.columns})};
  const FuzzData data = fuzz.data();
  Random random(fuzz.in.bits());
  for (const CompressTensor k : {kCompressInput, kCompressWeight}) fill(call.tensors[k].host, data, random);
  call.phase1 = compress_phase1(sizes.attributes);
  call.phase2 = aclnnNsaCompress;
  call.wanted.resize(kCompressTensors);
  for_each_compressed(sizes.attributes, call.tensors[kCompressInput].host, call.tensors[kCompressWeight].host,
                      [&](int64_t, const std::vector<WeightedTerm>& terms) {
                        add_bits(call.wanted[kCompressOutput], prescribed_compressed(dtype, terms),
                                 element_bytes(dtype));
                      });
  return call;
}

}  // namespace openaclnn_test
