// NsaCompressWithCache for fuzzers: any tokens and weights, sequences of every length, and any slots and
// pages.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/nsa/compress_with_cache/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline CacheAttributes fuzzed_cache(Input& in) {
  CacheAttributes a;
  a.block_size = in.pick({2, 1, 3, 5, 9});
  a.stride = in.pick<int64_t>({1, 2, 3, 7, INT64_MAX - 200});
  a.page_tokens = in.pick({2, 0, 1, 3, 8});
  for (int64_t left = in.below(5); left > 0; --left) {
    const int64_t steps = in.below(3) * std::min<int64_t>(a.stride, 7);
    a.lengths.push_back(in.chance() ? a.block_size + steps : in.below(12));
  }
  return a;
}

inline OperatorCall nsa_compress_with_cache_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const aclDataType dtype = fuzz.float_dtype();
  const CacheAttributes a = fuzzed_cache(in);
  const auto sequences = static_cast<int64_t>(a.lengths.size());
  const int64_t heads = 1 + in.below(3), columns = in.pick({1, 2, 5, 8, 9});
  const int64_t slots = in.below(6), pages = in.below(6);
  const int64_t tokens = std::accumulate(a.lengths.begin(), a.lengths.end(), in.below(3));
  OperatorCall call;
  call.tensors = {fuzz.input(dtype, a.is_paged() ? Shape{pages, a.page_tokens, heads, columns}
                                                 : Shape{tokens, heads, columns}),
                  fuzz.input(dtype, {a.block_size, heads}), fuzz.input(ACL_INT32, {sequences})};
  if (a.is_paged()) {
    const int64_t longest = sequences > 0 ? *std::ranges::max_element(a.lengths) : 0;
    const int64_t needed = (longest + a.page_tokens - 1) / a.page_tokens;
    call.tensors.push_back(fuzz.input(ACL_INT32, {sequences, needed + in.below(2)}));
  }
  call.tensors.push_back(fuzz.reference(dtype, {slots, heads, columns}));
  const FuzzData data = fuzz.data();
  const int64_t hostile = in.below(4);
  Random random(in.bits());
  const auto point_anywhere = [&](const HostTensor& numbers, int64_t limit) {
    HostTensor written = numbers.alias();
    for (int64_t i = 0; i < written.numel(); ++i)
      written.set_bits(i, static_cast<uint64_t>(index_near(limit, hostile, random)));
  };
  fill(call.tensors[kCacheInput].host, data, random);
  fill(call.tensors[kCacheWeight].host, data, random);
  fill(call.tensors.back().host, data, random);
  point_anywhere(call.tensors[kCacheSlots].host, slots);
  if (a.is_paged()) point_anywhere(call.tensors[kCacheTable].host, pages);
  call.phase1 = cache_phase1(a);
  call.phase2 = aclnnNsaCompressWithCache;

  std::vector<HostTensor> before;
  for (const FuzzTensor& tensor : call.tensors) before.push_back(tensor.host.alias());
  const CachePlan plan = plan_of_cache(a, before);
  call.fault = plan.fault;
  call.wanted.resize(call.tensors.size());
  for_each_cached(plan, before, [&](int64_t i, const std::vector<WeightedTerm>& terms) {
    const uint64_t bits = terms.empty() ? before.back().bits(i) : prescribed_compressed(dtype, terms);
    add_bits(call.wanted.back(), bits, element_bytes(dtype));
  });
  return call;
}

}  // namespace openaclnn_test
