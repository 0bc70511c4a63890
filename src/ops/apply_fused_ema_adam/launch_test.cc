// ApplyFusedEmaAdam: what phase 2 refuses, and the modes of the process that change what is refused.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/call_cases.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr int kNull = 161001;
constexpr int kInvalid = 161002;

void expect_untouched(EmaCall& call, const Outcome& outcome, int code,
                      const std::vector<std::string>& parts) {
  EXPECT_TRUE(failed_in_phase2(outcome, kEmaPhase2, code, parts));
  for (int k = 0; k < kEmaTensors; ++k) EXPECT_TRUE(call[k].unchanged()) << kEmaNames[k] << " was written to";
}

EmaCall filled_call(aclDataType dtype = ACL_FLOAT, const Shape& dims = {6, 6}, int64_t t = 3,
                    Placement placement = Placement::ends_at_guard) {
  EmaCall call(dtype, dims, t, Layout::contiguous, placement);
  Random random(test_seed());
  call.fill_ordinary(random);
  for (int k = 0; k < kEmaTensors; ++k) call[k].remember();
  return call;
}

HostTensor moved(const HostTensor& tensor, int64_t bytes) {
  return HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), tensor,
                    static_cast<std::byte*>(tensor.data()) + bytes);
}
HostTensor nowhere(const HostTensor& tensor) {
  return HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), tensor, nullptr);
}

TEST(EmaAdamPhase2, RefusesNullData) {
  for (int k = 0; k < kEmaTensors; ++k) {
    EmaCall call = filled_call();
    EmaCall spoiled = call;
    spoiled.replace(k, nowhere(call[k]));
    for (int later = 0; later < kEmaTensors;
         ++later) {  // NULL is found before misalignment, and before a later NULL
      if (later < k) spoiled.replace(later, moved(call[later], 1));
      if (later > k) spoiled.replace(later, nowhere(call[later]));
    }
    expect_untouched(call, spoiled.run({}), kNull, {std::string(kEmaNames[k]) + " has a NULL data address"});
  }
}

TEST(EmaAdamPhase2, RefusesMisalignedData) {
  for (const aclDataType dtype : kEmaDtypes) {
    for (int k = 0; k < kEmaTensors; ++k) {
      for (int64_t distance = 1; distance < element_bytes(k == kStep ? ACL_INT64 : dtype); ++distance) {
        EmaCall call = filled_call(dtype);
        EmaCall spoiled = call;
        spoiled.replace(k, moved(call[k], distance));
        expect_untouched(call, spoiled.run({}), kInvalid, {kEmaNames[k], "not a multiple of"});
      }
    }
  }
}

TEST(EmaAdamPhase2, RefusesProvableOverlap) {
  for (int a = kVar; a < kStep; ++a) {
    for (int b = a + 1; b < kStep; ++b) {
      for (const int64_t distance : {0, 4, -4, 35 * 4, -35 * 4}) {
        EmaCall call = filled_call();
        EmaCall spoiled = call;
        spoiled.replace(b, moved(call[a], distance));
        expect_untouched(call, spoiled.run({}), kInvalid, {kEmaNames[a], "overlaps", kEmaNames[b]});
      }
    }
    for (const int64_t distance : {4, -4, 35 * 4}) {
      EmaCall call = filled_call();
      EmaCall spoiled = call;
      spoiled.replace(kGrad, moved(call[a], distance));
      expect_untouched(call, spoiled.run({}), kInvalid, {kEmaNames[a], "overlaps grad", "identical"});
    }
    EmaCall transposed = filled_call();
    EmaCall spoiled = transposed;
    spoiled.replace(kGrad,
                    HostTensor(ACL_FLOAT, {6, 6}, View{{1, 6}, 0}, transposed[a], transposed[a].data()));
    expect_untouched(transposed, spoiled.run({}), kInvalid, {kEmaNames[a], "overlaps grad", "identical"});

    EmaCall stepped = filled_call();
    spoiled = stepped;
    const auto address = (reinterpret_cast<uintptr_t>(stepped[a].data()) + 7) / 8 * 8;
    spoiled.replace(kStep, HostTensor(ACL_INT64, {}, View{}, stepped[a], reinterpret_cast<void*>(address)));
    expect_untouched(stepped, spoiled.run({}), kInvalid, {kEmaNames[a], "overlaps step"});
  }
}

TEST(EmaAdamPhase2, AcceptsNeighboursAndSharedInputs) {
  // step lies right behind var; only its first 8 bytes count although its shape says more.
  const HostTensor memory(ACL_INT64, {11});
  EmaCall call = filled_call(ACL_FLOAT, {20});
  call.replace(kVar, HostTensor(ACL_FLOAT, {20}, View{{1}, 0}, memory, memory.data()));
  call.replace(kStep, HostTensor(ACL_INT64, {1}, View{{1}, 10}, memory, memory.data()));
  Random random(test_seed());
  call.fill_ordinary(random);
  call[kStep].set_bits(0, 5);
  const EmaCall::Bits wanted = call.expected({});
  EXPECT_TRUE(succeeded(call.run({})));
  EXPECT_TRUE(EmaCall::same_bits(call.bits(), wanted));
}

TEST(EmaAdamPhase2, AFailureConsumesTheExecutorAndTheNextCallWorks) {
  use_device();
  EmaCall call = filled_call();
  std::vector<Descriptor> d;
  for (int k = 0; k < kEmaTensors; ++k)
    d.push_back((k == kM ? nowhere(call[k]) : call[k].alias()).describe());
  aclTensor* const handles[] = {d[0].get(), d[1].get(), d[2].get(), d[3].get(), d[4].get(), d[5].get()};
  uint64_t workspace_bytes = 1;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(ema_adam_phase1({})(handles, &workspace_bytes, &executor), 0);
  EXPECT_EQ(workspace_bytes, 0u);
  EXPECT_TRUE(failed_in_phase2(run_phase2(aclnnApplyFusedEmaAdam, executor, 0), kEmaPhase2, kNull, {"mRef"}));
  EXPECT_TRUE(failed_in_phase2(run_phase2(aclnnApplyFusedEmaAdam, executor, 0), kEmaPhase2, 561000,
                               {"executor is not live"}));
  EXPECT_TRUE(failed_in_phase2(run_phase2(aclnnApplyFusedEmaAdam, nullptr, 0), kEmaPhase2, kNull,
                               {"executor is NULL"}));
  EXPECT_TRUE(call.run_and_compare({}));
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(EmaAdamSettings, Strict) {
  const ProcessResult result = run_suite("EmaAdamStrict", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}
TEST(EmaAdamSettings, Silent) {
  const ProcessResult result = run_suite("EmaAdamNotStrict", {{"OPENACLNN_CHECK", "silent"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}
TEST(EmaAdamSettings, Report) {
  const ProcessResult result = run_suite("EmaAdamNotStrict", {{"OPENACLNN_CHECK", "report"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}
TEST(EmaAdamSettings, VendorLimits) {
  const ProcessResult result = run_suite("EmaAdamVendor", {{"OPENACLNN_LIMITS", "vendor"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};

TEST(DISABLED_EmaAdamStrict, StepBelowOneIsAFaultAndNothingIsWritten) {
  use_device();
  for (const aclDataType dtype : kEmaDtypes) {
    for (const int64_t t : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
      EmaCall call = filled_call(dtype, {3000}, t, Placement::library);
      const Outcome outcome = call.run({}, kLibraryMemory);
      expect_untouched(call, outcome, 507035, {"step is " + std::to_string(t), "at least 1"});
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
      // Without correction the same step is not looked at.
      EmaCall uncorrected = filled_call(dtype, {3000}, t, Placement::library);
      EXPECT_TRUE(uncorrected.run_and_compare({.bias_correction = false}, kLibraryMemory));
    }
    EmaCall call = filled_call(dtype, {3000}, 1, Placement::library);
    EXPECT_TRUE(call.run_and_compare({}, kLibraryMemory));
  }
}

TEST(DISABLED_EmaAdamStrict, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  use_device();
  for (int k = 0; k < kEmaTensors; ++k) {
    EmaCall call = filled_call(ACL_FLOAT, {64}, 3, Placement::library);
    EmaCall spoiled = call;
    HostTensor foreign = call[k].copy(Layout::contiguous);
    spoiled.replace(k, foreign.alias());
    expect_untouched(call, spoiled.run({}, kLibraryMemory), kInvalid,
                     {kEmaNames[k], "inside one live block", "aclrtMalloc"});
    // Known memory, but the view leaves its block.
    if (k == kStep) continue;
    EmaCall beyond = call;
    beyond.replace(k, moved(call[k], 64));
    expect_untouched(call, beyond.run({}, kLibraryMemory), kInvalid, {kEmaNames[k], "inside one live block"});
  }
}

TEST(DISABLED_EmaAdamNotStrict, StepBelowOneFollowsIeee) {
  for (const int64_t t : {int64_t{0}, int64_t{-5}}) {
    EmaCall call = filled_call(ACL_FLOAT, {3000}, t);
    EXPECT_TRUE(call.run_and_compare({}));
  }
}

TEST(DISABLED_EmaAdamVendor, RankZeroIsRefusedLast) {
  EmaCall scalar = filled_call(ACL_FLOAT, {}, 1);
  EXPECT_TRUE(
      failed_in_phase1(scalar.run({}), kEmaPhase1, kInvalid, {"grad has rank 0", "OPENACLNN_LIMITS=vendor"}));
  EXPECT_TRUE(failed_in_phase1(scalar.run({.mode = 2}), kEmaPhase1, kInvalid, {"mode is 2"}));
  EmaCall vector = filled_call(ACL_FLOAT, {1}, 1);
  EXPECT_TRUE(vector.run_and_compare({}));
}

}  // namespace
}  // namespace openaclnn_test
