// NsaCompressWithCache: phase 2 refusals, optional memory, and the modes of the process that change refusals
// or reports.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/nsa/compress_with_cache/verify/cases.h"
#include "support/case_call.h"
#include "support/phase2_refusals.h"
#include "support/subprocess.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

// Blocks of 8 tokens every 4 in sequences of 12, 13, 8 and 7 tokens; 2 heads of 4 columns.
CacheAttributes attributes(bool paged, int64_t least = 0) {
  return {8, 4, {12 - least, 13 - least, 8 - least, 7 - least}, paged ? 6 : 0};
}
Case small_case(aclDataType dtype, const CacheAttributes& a) {
  return cache_case(dtype, {2, 4, 4}, a, Layout::contiguous, "launch");
}
Launch cache_launch(aclDataType dtype, bool paged, Placement placement) {
  return make_launch("aclnnNsaCompressWithCache", small_case(dtype, attributes(paged)), placement);
}

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const bool paged : {true, false}) {
      const std::string name = std::string(dtype_name(dtype)) + (paged ? "Paged" : "Packed");
      all.push_back({.name = name,
                     .make = [=](Placement placement) { return cache_launch(dtype, paged, placement); },
                     .least_pairs = 300,
                     .needs_workspace = true});
      // Without completed blocks nothing is required.
      const Case none = small_case(dtype, attributes(paged, 6));
      std::vector<size_t> all_tensors(none.tensors.size());
      std::iota(all_tensors.begin(), all_tensors.end(), size_t{0});
      all.push_back({.name = name + "WithoutBlocks",
                     .make =
                         [none](Placement placement) {
                           return make_launch("aclnnNsaCompressWithCache", none, placement);
                         },
                     .not_accessed = all_tensors,
                     .needs_workspace = false});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(NsaWithCache, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

// ---- Settings of the process: each suite runs in its own process ----

TEST(NsaWithCacheSettings, Strict) {
  for (const char* threads : {"1", "3"}) {
    expect_suite_passes("NsaWithCacheStrict",
                        {{"OPENACLNN_CHECK", "strict"}, {"OPENACLNN_NUM_THREADS", threads}});
  }
}
TEST(NsaWithCacheSettings, Silent) {
  expect_suite_passes("NsaWithCacheSilent", {{"OPENACLNN_CHECK", "silent"}});
}
TEST(NsaWithCacheSettings, Blocking) {
  expect_suite_passes("NsaWithCacheBlocking", {{"OPENACLNN_BLOCKING", "1"}});
}

PROCESS_TEST(NsaWithCacheStrict, AWrongNumberIsAFaultAndNothingIsWritten) {
  use_device();
  const RunOptions in_library_memory = {.workspace = Placement::library};
  for (const aclDataType dtype : kFloatDtypes) {
    CaseCall call(small_case(dtype, attributes(true)), Placement::library);
    ASSERT_TRUE(call.run_cleanly(in_library_memory));
    for (const auto& [tensor, entry, sentence] :
         {std::tuple(kCacheSlots, 2, "slotMapping[2] = -7 is outside [0, 8), the slots of outputCache; "),
          {kCacheTable, 7, "blockTableOptional[7] = -7 is outside [0, 16), the pages of input; "}}) {
      const uint64_t right = call[tensor].bits(entry);
      call[tensor].set(entry, -7);
      for (size_t k = 0; k < call.tensors().size(); ++k) call[k].remember();
      EXPECT_TRUE(failed_in_phase2(call.run(in_library_memory), "aclnnNsaCompressWithCache", 507035,
                                   {sentence, "1 of 2 completed blocks are wrong and nothing was written"}));
      for (size_t k = 0; k < call.tensors().size(); ++k) EXPECT_TRUE(call[k].unchanged()) << "tensor " << k;
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
      call[tensor].set_bits(entry, right);
    }
  }
}

// Outputs that are written despite faulty numbers.
void expect_planned_bits(const CacheAttributes& a, const CaseCall& call,
                         const std::vector<HostTensor>& before) {
  std::vector<uint64_t> wanted;
  for_each_cached(plan_of_cache(a, before), before, [&](int64_t i, const std::vector<WeightedTerm>& terms) {
    wanted.push_back(terms.empty() ? before.back().bits(i)
                                   : prescribed_compressed(before.back().dtype(), terms));
  });
  EXPECT_TRUE(call.has_bits(call.tensors().size() - 1, wanted));
}

PROCESS_TEST(NsaWithCacheSilent, OtherBlocksAreCompressedWithoutAWord) {
  const CacheAttributes a = attributes(true);
  for (const aclDataType dtype : kFloatDtypes) {
    CaseCall call(small_case(dtype, a));
    call[kCacheSlots].set(0, 1000);
    const std::vector<HostTensor> before = before_call(call.description(), call.tensors());
    EXPECT_TRUE(succeeded(call.run()));
    expect_planned_bits(a, call, before);
  }
}

PROCESS_TEST(NsaWithCacheBlocking, Phase2ReturnsTheFaultAndOtherBlocksAreCompressed) {
  const CacheAttributes a = attributes(true);
  CaseCall call(small_case(ACL_FLOAT, a));
  call[kCacheTable].set(0, -1);
  const std::vector<HostTensor> before = before_call(call.description(), call.tensors());
  EXPECT_TRUE(
      failed_in_phase2(call.run(), "aclnnNsaCompressWithCache", 507035,
                       {"blockTableOptional[0] = -1 is outside [0, ", "1 of 2 completed blocks were not"}));
  expect_planned_bits(a, call, before);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
}

}  // namespace
}  // namespace openaclnn_test
