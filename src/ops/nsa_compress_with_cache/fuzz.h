// NsaCompressWithCache for fuzzers: any data in any small shape.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/nsa_compress_with_cache/cases.h"

namespace openaclnn_test {

inline OperatorCall nsa_compress_with_cache_fuzz_call(Fuzz fuzz) {
  const aclDataType dtype = fuzz.float_dtype();
  Shape dims(static_cast<size_t>(fuzz.in.below(3)));
  for (int64_t& dim : dims) dim = fuzz.in.below(7);
  OperatorCall call;
  call.tensors = {fuzz.input(dtype, dims), fuzz.output(dtype, dims)};
  const HostTensor& self = call.tensors[kNsaCompressWithCacheSelf].host;
  const FuzzData data = fuzz.data();
  Random random(fuzz.in.bits());
  fill(self, data, random);
  call.phase1 = nsa_compress_with_cache_phase1;
  call.phase2 = aclnnNsaCompressWithCache;
  call.wanted.resize(kNsaCompressWithCacheTensors);
  // The bits that the README prescribes.
  for (int64_t i = 0; i < self.numel(); ++i)
    add_bits(call.wanted[kNsaCompressWithCacheOut], encode(dtype, self.get(i)), element_bytes(dtype));
  return call;
}

}  // namespace openaclnn_test
