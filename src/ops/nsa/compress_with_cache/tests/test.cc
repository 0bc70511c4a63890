// NsaCompressWithCache: test vectors computed by hand, the bits of the prescribed order for blocks of all
// kinds, and the results of faulty slots and pages.
#include <gtest/gtest.h>

#include "aclnnop/aclnn_nsa_compress.h"
#include "ops/nsa/compress_with_cache/verify/cases.h"
#include "support/case_call.h"
#include "support/subprocess.h"
#include "support/verify.h"

namespace openaclnn_test {
namespace {

CaseCall call_of(aclDataType dtype, const CacheShape& shape, const CacheAttributes& a,
                 Layout layout = Layout::contiguous) {
  return CaseCall(cache_case(dtype, shape, a, layout, "test"));
}

HostTensor& cache_of(CaseCall& call) { return call[call.tensors().size() - 1]; }

void set_numbers(HostTensor& tensor, const std::vector<int64_t>& numbers) {
  for (size_t k = 0; k < numbers.size(); ++k)
    tensor.set_bits(static_cast<int64_t>(k), static_cast<uint64_t>(numbers[k]));
}

enum class Reports { faults, nothing };

// Runs the call and compares everything: outcome and error message, every bit of the cache, inputs and gaps.
::testing::AssertionResult runs_as_planned(const CacheAttributes& a, CaseCall& call,
                                           Reports reports = Reports::faults) {
  const std::vector<HostTensor> before = before_call(call.description(), call.tensors());
  const CachePlan plan = plan_of_cache(a, before);
  std::vector<uint64_t> wanted;
  for_each_cached(plan, before, [&](int64_t i, const std::vector<WeightedTerm>& terms) {
    wanted.push_back(terms.empty() ? before.back().bits(i)
                                   : prescribed_compressed(before.back().dtype(), terms));
  });
  if (plan.fault.empty() || reports == Reports::nothing) {
    if (auto ran = call.run_cleanly(); !ran) return ran;
  } else {
    const std::string counts = std::to_string(plan.skipped) + " of " + std::to_string(plan.completed) +
                               " completed blocks were not compressed";
    const Outcome outcome = call.run();
    if (auto faulted = failed_in_sync(outcome, {"aclnnNsaCompressWithCache (stream ", plan.fault, counts});
        !faulted)
      return faulted;
    if (!outcome.workspace_intact)
      return ::testing::AssertionFailure() << "bytes around the workspace changed";
  }
  return call.has_bits(call.tensors().size() - 1, wanted);
}

// Two heads of one column; pages of 2 tokens, and blocks of 3.
const CacheAttributes kByHand = {3, 2, {5, 4, 3}, 2};

// input[t] = {t + 1, -t}: token 4 of page 2 is {5, -4}.
CaseCall call_by_hand() {
  CaseCall call = call_of(ACL_FLOAT, {2, 1, 0}, kByHand);
  HostTensor& input = call[kCacheInput];
  for (int64_t t = 0; t < input.numel() / 2; ++t) {
    input.set(2 * t, static_cast<double>(t + 1));
    input.set(2 * t + 1, static_cast<double>(-t));
  }
  call[kCacheWeight].fill({1, 1, 2, .5, 3, .25});
  set_numbers(call[kCacheSlots], {2, 77, 0});
  set_numbers(call[kCacheTable], {-5, 3, 0, 99, 99, 99, 1, 2, -1});
  cache_of(call).fill({.5});
  return call;
}

// Sequence 0 has tokens 2 to 4 of pages 3 and 0, and sequence 2 has tokens 0 to 2 of pages 1 and 2. Sequence
// 1 completed no block, and none of its entries is read.
TEST(NsaWithCacheVectors, ByHand) {
  CaseCall call = call_by_hand();
  ASSERT_TRUE(call.run_cleanly());
  const double wanted[] = {3 + 2 * 4 + 3 * 5, -2 - .5 * 3 - .25 * 4, .5, .5,
                           7 + 2 * 8 + 3 * 1, -6 - .5 * 7 - 0};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(cache_of(call).get(i), wanted[i]) << "element " << i;
}

TEST(NsaWithCacheVectors, PackedSequencesByHand) {
  CaseCall call = call_of(ACL_FLOAT16, {1, 1, 1}, {2, 1, {3, 1, 2}, 0});
  for (int64_t t = 0; t < 7; ++t) call[kCacheInput].set(t, static_cast<double>(t * t));
  call[kCacheWeight].fill({1, 2});
  set_numbers(call[kCacheSlots], {3, 3, 1});
  cache_of(call).fill({8});
  ASSERT_TRUE(call.run_cleanly());
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(cache_of(call).get(i), (std::vector<double>{8, 66, 8, 9})[static_cast<size_t>(i)]);
}

// Each block has the bits that NsaCompress gives for a sequence that ends with it.
TEST(NsaWithCacheValues, HaveTheBitsOfNsaCompress) {
  const CacheAttributes a = {70, 70, {70}, 16};
  for (const aclDataType dtype : kFloatDtypes) {
    CaseCall call = call_of(dtype, {3, 37, 0}, a);
    set_numbers(call[kCacheTable], {0, 1, 2, 3, 4});
    set_numbers(call[kCacheSlots], {0});
    ASSERT_TRUE(call.run_cleanly());
    HostTensor input = call[kCacheInput].alias(), weight = call[kCacheWeight].alias();
    const HostTensor tokens(dtype, {70, 3, 37}, View{{3 * 37, 37, 1}, 0}, input, input.data());
    const HostTensor output(dtype, {1, 3, 37});
    const HostTensor* const tensors[] = {&tokens, &weight, &output};
    ASSERT_TRUE(succeeded(run_operator(
        tensors,
        [](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGetWorkspaceSize(t[0], t[1], nullptr, nullptr, 70, 70, 0, t[2], bytes,
                                                  executor);
        },
        aclnnNsaCompress)));
    EXPECT_EQ(cache_of(call).all_bits(), output.all_bits());
  }
}

TEST(NsaWithCacheValues, EverySizeHasThePrescribedBits) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t columns : {1, 2, 3, 7, 8, 9, 16, 17, 33, 170, 511, 512, 513, 1025, 4097, 8193}) {
      const CacheAttributes a = {6, 2, {6, 8, 9}, 4};
      CaseCall call = call_of(dtype, {columns < 200 ? 7 : 2, columns}, a);
      ASSERT_TRUE(runs_as_planned(a, call)) << columns << " columns";
    }
    for (const int64_t block : {1, 2, 8, 63, 64, 65, 511, 512, 513, 1537}) {
      for (const int64_t page : {0, 1, 7, 64}) {
        const CacheAttributes a = {block, 3, {block, block + 6, block + 7}, page};
        CaseCall call = call_of(dtype, {2, 5}, a);
        ASSERT_TRUE(runs_as_planned(a, call)) << "blocks of " << block << ", pages of " << page;
      }
    }
  }
}

// A fused sum of such products is +0 or -0, and adding it to a superblock makes it +0.
TEST(NsaWithCacheValues, ProductsThatUnderflowHaveThePrescribedBits) {
  for (const aclDataType dtype : kUnderflowDtypes) {
    for (const int64_t columns : {5, 40}) {
      for (const int64_t block : {1, 8, 64, 65, 600}) {
        const CacheAttributes a = {block, 3, {block, block + 6, block + 7}, 16};
        CaseCall call(with_underflow(cache_case(dtype, {2, columns}, a, Layout::contiguous, "test"), -90));
        ASSERT_TRUE(runs_as_planned(a, call)) << "blocks of " << block << ", " << columns << " columns";
      }
    }
  }
}

TEST(NsaWithCacheValues, RandomCallsHaveThePrescribedBits) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int repeat = 0; repeat < 300; ++repeat) {
    CacheAttributes a = {random.between(1, 40), random.between(1, 9), {}, random.below(20)};
    for (int64_t b = random.below(9); b > 0; --b)
      a.lengths.push_back(random.chance(3) ? random.below(90) : a.block_size + random.below(4) * a.stride);
    const CacheShape shape = {random.between(1, 9), random.between(1, 40), random.below(3)};
    CaseCall call = call_of(kFloatDtypes[random.below(3)], shape, a);
    // One number in eight is faulty, and slots repeat.
    const int64_t slots = cache_of(call).dims()[0], pages = call[kCacheInput].dims()[0];
    const bool wrong = random.chance(2);
    const auto draw = [&](int64_t limit) {
      return wrong && random.chance(8) ? -1 + random.below(2) * (limit + 1) : random.below(limit);
    };
    for (int64_t i = 0; i < call[kCacheSlots].numel(); ++i)
      call[kCacheSlots].set(i, static_cast<double>(draw(slots)));
    for (int64_t i = 0; a.is_paged() && i < call[kCacheTable].numel(); ++i)
      call[kCacheTable].set(i, static_cast<double>(draw(pages)));
    ASSERT_TRUE(runs_as_planned(a, call)) << "round " << repeat;
  }
}

// `different` slots for all sequences, so that later sequences replace most of them.
void expect_last_of_equal_slots(aclDataType dtype, int64_t sequences, int64_t different, int64_t columns) {
  const CacheAttributes a = {4, 1, std::vector<int64_t>(static_cast<size_t>(sequences), 4), 3};
  CaseCall call = call_of(dtype, {2, columns}, a);
  for (int64_t b = 0; b < sequences; ++b) call[kCacheSlots].set(b, static_cast<double>(b * b % different));
  ASSERT_TRUE(runs_as_planned(a, call)) << sequences << " sequences, " << different << " slots";
}

TEST(NsaWithCacheValues, OfEqualSlotsTheLastOneCounts) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t sequences : {2, 3, 40, 1000}) {
      for (const int64_t different : {1, 2, 7}) expect_last_of_equal_slots(dtype, sequences, different, 9);
    }
  }
}

// The last sequence that completed a block counts, even if later ones with the same slot completed none.
TEST(NsaWithCacheValues, ASequenceWithoutABlockTakesNoSlot) {
  for (const aclDataType dtype : kFloatDtypes) {
    const CacheAttributes a = {4, 2, {4, 6, 5, 3, 7}, 3};
    CaseCall call = call_of(dtype, {2, 9}, a);
    for (int64_t b = 0; b < 5; ++b) call[kCacheSlots].set(b, 1);
    const CachePlan plan = plan_of_cache(a, before_call(call.description(), call.tensors()));
    ASSERT_EQ(plan.completed, 2);
    ASSERT_TRUE(runs_as_planned(a, call));
  }
}

TEST(NsaWithCacheEmpty, WithoutACompletedBlockThereIsNothingToDo) {
  for (const int64_t page : {0, 4}) {
    for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{}, {0, 0}, {7, 9, 11, 1}}) {
      const CacheAttributes a = {8, 2, lengths, page};
      CaseCall call = call_of(ACL_BF16, {2, 3}, a);
      for (const size_t k : {kCacheSlots, kCacheTable}) {
        for (int64_t i = 0; k + 1 < call.tensors().size() && i < call[k].numel(); ++i) call[k].set(i, -9);
      }
      const std::vector<uint64_t> before = cache_of(call).all_bits();
      const Outcome outcome = call.run();
      EXPECT_TRUE(succeeded(outcome));
      EXPECT_EQ(outcome.workspace_bytes, 0u);
      EXPECT_EQ(cache_of(call).all_bits(), before);
    }
  }
}

// ---- Out of range ----

constexpr int64_t kWrong[] = {-1, INT32_MIN, INT32_MIN + 1, INT32_MAX};

TEST(NsaWithCacheFaults, AWrongSlotSkipsItsBlockOnly) {
  const CacheAttributes a = {6, 2, {6, 8, 9, 10}, 4};
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t sequence : {0, 1, 3}) {
      CaseCall call = call_of(dtype, {3, 20}, a);
      const int64_t slots = cache_of(call).dims()[0];
      for (const int64_t value : {kWrong[0], kWrong[1], kWrong[2], kWrong[3], slots, slots + 1}) {
        set_numbers(call[kCacheSlots], {5, 4, -1, 2});
        call[kCacheSlots].set_bits(sequence, static_cast<uint64_t>(value));
        ASSERT_TRUE(runs_as_planned(a, call)) << "slot " << value << " of sequence " << sequence;
      }
    }
  }
}

// Only pages with tokens of a completed block are read: here the last two of five.
TEST(NsaWithCacheFaults, AWrongPageSkipsItsBlockOnly) {
  const CacheAttributes a = {6, 2, {18, 17, 18}, 4};
  for (const aclDataType dtype : kFloatDtypes) {
    for (int64_t entry = 0; entry < 15; ++entry) {
      CaseCall call = call_of(dtype, {3, 20}, a);
      const int64_t pages = call[kCacheInput].dims()[0];
      for (const int64_t value : {kWrong[0], kWrong[1], kWrong[2], kWrong[3], pages, pages + 1}) {
        call[kCacheTable].set_bits(entry, static_cast<uint64_t>(value));
        ASSERT_TRUE(runs_as_planned(a, call)) << "page " << value << " at " << entry;
      }
    }
  }
}

TEST(NsaWithCacheFaults, TheFirstSequenceIsReportedAndItsSlotBeforeItsPages) {
  CaseCall call = call_by_hand();
  set_numbers(call[kCacheSlots], {2, 77, 3});
  set_numbers(call[kCacheTable], {-5, 3, 0, 99, 99, 99, 9, 2, -1});
  EXPECT_TRUE(failed_in_sync(
      call.run(), {"slotMapping[2] = 3 is outside [0, 3), the slots of outputCache; 1 of 2 completed"}));
  set_numbers(call[kCacheTable], {-5, 3, 9, 99, 99, 99, 9, 2, -1});
  EXPECT_TRUE(failed_in_sync(
      call.run(), {"blockTableOptional[2] = 9 is outside [0, 9), the pages of input; 2 of 2 completed"}));
}

TEST(NsaWithCacheFaults, AreReportedOnceAndTheStreamGoesOn) {
  CaseCall call = call_by_hand();
  call[kCacheTable].set(1, -1);
  ASSERT_TRUE(runs_as_planned(kByHand, call));
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  call[kCacheTable].set(1, 3);
  ASSERT_TRUE(runs_as_planned(kByHand, call));
}

// A faulty block does not take its slot from an earlier block.
TEST(NsaWithCacheFaults, ASkippedBlockLeavesItsSlotToOthers) {
  CaseCall call = call_by_hand();
  set_numbers(call[kCacheSlots], {1, 1, 1});
  call[kCacheTable].set(7, 9);
  ASSERT_TRUE(runs_as_planned(kByHand, call));
}

TEST(NsaWithCacheFaults, WithoutSlotsOrPagesEveryBlockIsWrong) {
  const CacheAttributes a = {3, 1, {3, 4}, 2};
  for (const size_t emptied : {size_t{kCacheInput}, size_t{kCacheTable} + 1}) {
    Case c = cache_case(ACL_FLOAT, {2, 3}, a, Layout::contiguous, "test");
    c.tensors[emptied].dims[0] = 0;
    if (emptied != kCacheInput) c.tensors[kCacheSlots].listed = {0, 0};
    if (emptied == kCacheInput) c.tensors[kCacheTable].listed.assign(c.tensors[kCacheTable].listed.size(), 0);
    CaseCall call(c);
    ASSERT_TRUE(runs_as_planned(a, call)) << c.tensors[emptied].name;
  }
}

TEST(NsaWithCacheFaults, AreTheSameForAnyNumberOfThreads) {
  for (const char* threads : {"1", "2", "3", "7"}) {
    const ProcessResult result = run_suite("NsaWithCacheThreads", {{"OPENACLNN_NUM_THREADS", threads}});
    EXPECT_TRUE(ran_and_passed(result)) << threads << " threads: " << result.output;
  }
}

PROCESS_TEST(NsaWithCacheThreads, OfEqualSlotsTheLastOneCounts) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t different : {1, 3}) {
      expect_last_of_equal_slots(dtype, 400, different, 40);
      expect_last_of_equal_slots(dtype, 4, different, 6000);
    }
  }
}

PROCESS_TEST(NsaWithCacheThreads, ManyBlocksAndWideOnes) {
  for (const auto& [sequences, columns] : {std::pair<size_t, int64_t>{500, 40}, {2, 20000}}) {
    const CacheAttributes a = {16, 4, std::vector<int64_t>(sequences, 20), 8};
    CaseCall call = call_of(ACL_FLOAT16, {2, columns}, a);
    ASSERT_TRUE(runs_as_planned(a, call));
    call[kCacheSlots].set(static_cast<int64_t>(sequences) - 1, -3);
    call[kCacheTable].set(1, -3);
    ASSERT_TRUE(runs_as_planned(a, call));
  }
}

}  // namespace
}  // namespace openaclnn_test
