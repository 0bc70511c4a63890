// ApplyFusedEmaAdam: what phase 2 refuses, and the modes of the process that change what is refused.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "support/phase1_faults.h"
#include "support/phase2_faults.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

EmaCall filled_call(aclDataType dtype = ACL_FLOAT, const Shape& dims = {6, 6}, int64_t t = 3,
                    Placement placement = Placement::ends_at_guard) {
  EmaCall call(dtype, dims, t, Layout::contiguous, placement);
  Random random(test_seed());
  call.fill_ordinary(random);
  for (int k = 0; k < kEmaTensors; ++k) call[k].remember();
  return call;
}

Launch ema_launch(aclDataType dtype = ACL_FLOAT, const EmaAttributes& attributes = {},
                  Placement placement = Placement::ends_at_guard, const Shape& dims = {8, 8}) {
  Launch launch = make_launch(
      kEmaPhase2, ema_adam_case(dtype, dims, attributes, 3, Layout::contiguous, "launch"), placement);
  launch.tensors[kGrad].may_equal_output = true;
  return launch;
}

TEST(EmaAdamPhase2, TheFirstOfTwoFaultsDecides) {
  for (const aclDataType dtype : kEmaDtypes)
    EXPECT_GT(expect_launch_faults_in_order(ema_launch(dtype)), 1000);
}

TEST(EmaAdamPhase2, RefusesMisalignedData) {
  for (const aclDataType dtype : kEmaDtypes) expect_misaligned_data_refused(ema_launch(dtype));
}

// P9, P10: step is read with bias correction only, and nothing of empty tensors is.
TEST(EmaAdamPhase2, NeedsOnlyWhatItAccesses) {
  for (const aclDataType dtype : kEmaDtypes) {
    expect_only_needed_memory_matters(ema_launch(dtype));
    const Launch uncorrected = not_accessing(ema_launch(dtype, {.bias_correction = false}), {kStep});
    expect_only_needed_memory_matters(uncorrected);
    EXPECT_GT(expect_launch_faults_in_order(uncorrected), 500);
    const Launch empty = not_accessing(ema_launch(dtype, {}, Placement::ends_at_guard, {3, 0}),
                                       {kGrad, kVar, kM, kV, kS, kStep});
    expect_only_needed_memory_matters(empty);
  }
}

TEST(EmaAdamPhase2, AcceptsNeighbours) {
  for (const aclDataType dtype : kEmaDtypes) expect_neighbours_work(ema_launch(dtype));
}

TEST(EmaAdamPhase2, TakesNewAddresses) { expect_address_updates_work(ema_launch()); }

// P11: grad may be the identical view of one ref, but not another view of the same bytes.
TEST(EmaAdamPhase2, GradMayBeTheIdenticalViewOfOneRef) {
  for (size_t ref = kVar; ref < kStep; ++ref) {
    const Launch launch = remembering(ema_launch());
    const HostTensor& memory = launch.tensors[ref].tensor;
    LaunchArguments transposed = valid_arguments(launch, nullptr, 0);
    transposed.tensors[kGrad] = HostTensor(ACL_FLOAT, {8, 8}, View{{1, 8}, 0}, memory, memory.data());
    EXPECT_TRUE(
        refused(launch, transposed, kInvalid, {std::string(kEmaNames[ref]) + " overlaps grad", "identical"}));
    LaunchArguments identical = valid_arguments(launch, nullptr, 0);
    identical.tensors[kGrad] = memory.alias();
    EXPECT_TRUE(succeeded(run_arguments(launch, identical)));
  }
}

// P11: of step only the 8 bytes of element 0 count, whatever its shape says.
TEST(EmaAdamPhase2, StepIsEightBytes) {
  const HostTensor memory(ACL_INT64, {14});
  EmaCall call = filled_call(ACL_FLOAT, {20});
  call.replace(kVar, HostTensor(ACL_FLOAT, {20}, View{{1}, 0}, memory, memory.element(2)));
  call.replace(kStep, HostTensor(ACL_INT64, {2}, View{{1}, 0}, memory, memory.element(1)));
  Random random(test_seed());
  call.fill_ordinary(random);
  call[kStep].set_bits(0, 5);
  const EmaCall::Bits wanted = call.expected({});
  EXPECT_TRUE(succeeded(call.run({})));
  EXPECT_TRUE(EmaCall::same_bits(call.bits(), wanted));
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

PROCESS_TEST(EmaAdamStrict, StepBelowOneIsAFaultAndNothingIsWritten) {
  use_device();
  for (const aclDataType dtype : kEmaDtypes) {
    for (const int64_t t : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
      EmaCall call = filled_call(dtype, {3000}, t, Placement::library);
      EXPECT_TRUE(failed_in_phase2(call.run({}, kLibraryMemory), kEmaPhase2, 507035,
                                   {"step is " + std::to_string(t), "at least 1"}));
      for (int k = 0; k < kEmaTensors; ++k) EXPECT_TRUE(call[k].unchanged()) << kEmaNames[k];
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
      // Without correction the same step is not looked at.
      EmaCall uncorrected = filled_call(dtype, {3000}, t, Placement::library);
      EXPECT_TRUE(uncorrected.run_and_compare({.bias_correction = false}, kLibraryMemory));
    }
    EmaCall call = filled_call(dtype, {3000}, 1, Placement::library);
    EXPECT_TRUE(call.run_and_compare({}, kLibraryMemory));
  }
}

PROCESS_TEST(EmaAdamStrict, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  for (const aclDataType dtype : kEmaDtypes)
    expect_unknown_memory_refused(ema_launch(dtype, {}, Placement::library));
}

PROCESS_TEST(EmaAdamNotStrict, StepBelowOneFollowsIeee) {
  for (const int64_t t : {int64_t{0}, int64_t{-5}}) {
    EmaCall call = filled_call(ACL_FLOAT, {3000}, t);
    EXPECT_TRUE(call.run_and_compare({}));
  }
}

// What it refuses is in errors_test.cc.
PROCESS_TEST(EmaAdamVendor, RankOneWorks) {
  EmaCall vector = filled_call(ACL_FLOAT, {1}, 1);
  EXPECT_TRUE(vector.run_and_compare({}));
}

}  // namespace
}  // namespace openaclnn_test
