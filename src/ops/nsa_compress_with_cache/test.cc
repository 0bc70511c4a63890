// NsaCompressWithCache: what only this operator has: test vectors, its own sizes, its faults. What all operators promise is tested over
// cases.h by the programs of tests/ops.
#include <gtest/gtest.h>

#include "ops/nsa_compress_with_cache/cases.h"
#include "support/case_call.h"

namespace openaclnn_test {
namespace {

TEST(NsaCompressWithCacheVectors, ByHand) {
  CaseCall call(nsa_compress_with_cache_case(ACL_FLOAT, {4}, Layout::contiguous, "by hand"));
  call[kNsaCompressWithCacheSelf].fill({1, -2, 0.5, 3});
  const std::vector<uint64_t> untouched = call[kNsaCompressWithCacheOut].all_bits();
  ASSERT_TRUE(call.run_cleanly());
  ASSERT_NE(call[kNsaCompressWithCacheOut].all_bits(), untouched)
      << "the kernel of aclnnNsaCompressWithCache is not written: src/ops/nsa_compress_with_cache/cpu.cc "
         "leaves out as it was";
  EXPECT_TRUE(call.has_bits(kNsaCompressWithCacheOut, {0x3f800000, 0xc0000000, 0x3f000000, 0x40400000}));
}

}  // namespace
}  // namespace openaclnn_test
