// ApplyFusedEmaAdam: phase 2 refusals, and the modes of the process that change refusals.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "ops/apply_fused_ema_adam/verify/description.h"
#include "support/phase1_mistakes.h"
#include "support/phase2_refusals.h"
#include "support/subprocess.h"
#include "verify/number.h"

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
  return with_aliasing(
      make_launch(kEmaPhase2, ema_adam_case(dtype, dims, attributes, 3, Layout::contiguous, "launch"),
                  placement),
      apply_fused_ema_adam_descriptions()[0]);
}

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kFloatDtypes) {
    const auto of = [dtype](const EmaAttributes& attributes, const Shape& dims) {
      return [=](Placement placement) { return ema_launch(dtype, attributes, placement, dims); };
    };
    const std::string name = dtype_name(dtype);
    all.push_back({.name = name, .make = of({}, {8, 8}), .least_pairs = 1000});
    // step is read only with bias correction, and empty tensors are not read.
    all.push_back({.name = name + "Uncorrected",
                   .make = of({.bias_correction = false}, {8, 8}),
                   .least_pairs = 500,
                   .not_accessed = {kStep}});
    all.push_back(
        {.name = name + "Empty", .make = of({}, {3, 0}), .not_accessed = {kGrad, kVar, kM, kV, kS, kStep}});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(EmaAdam, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

// grad may be the same view as one ref, but not another view of the same bytes.
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

// Only the 8 bytes of step's element 0 count, for any shape.
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
  EXPECT_TRUE(call.has_all_bits(wanted));
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(EmaAdamSettings, Strict) { expect_suite_passes("EmaAdamStrict", {{"OPENACLNN_CHECK", "strict"}}); }
TEST(EmaAdamSettings, Silent) { expect_suite_passes("EmaAdamNotStrict", {{"OPENACLNN_CHECK", "silent"}}); }
TEST(EmaAdamSettings, Report) { expect_suite_passes("EmaAdamNotStrict", {{"OPENACLNN_CHECK", "report"}}); }
TEST(EmaAdamSettings, VendorLimits) {
  expect_suite_passes("EmaAdamVendor", {{"OPENACLNN_LIMITS", "vendor"}});
}

const RunOptions kLibraryMemory = {.workspace = Placement::library};

PROCESS_TEST(EmaAdamStrict, StepBelowOneIsAFaultAndNothingIsWritten) {
  use_device();
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t t : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
      EmaCall call = filled_call(dtype, {3000}, t, Placement::library);
      EXPECT_TRUE(failed_in_phase2(call.run({}, kLibraryMemory), kEmaPhase2, 507035,
                                   {"step is " + std::to_string(t), "at least 1"}));
      for (int k = 0; k < kEmaTensors; ++k) EXPECT_TRUE(call[k].unchanged()) << kEmaNames[k];
      EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
      // Without correction the same step is not read.
      EmaCall uncorrected = filled_call(dtype, {3000}, t, Placement::library);
      EXPECT_TRUE(uncorrected.run_and_compare({.bias_correction = false}, kLibraryMemory));
    }
    EmaCall call = filled_call(dtype, {3000}, 1, Placement::library);
    EXPECT_TRUE(call.run_and_compare({}, kLibraryMemory));
  }
}

PROCESS_TEST(EmaAdamNotStrict, StepBelowOneFollowsIeee) {
  for (const int64_t t : {int64_t{0}, int64_t{-5}}) {
    EmaCall call = filled_call(ACL_FLOAT, {3000}, t);
    EXPECT_TRUE(call.run_and_compare({}));
  }
}

// errors_test.cc tests its refusals.
PROCESS_TEST(EmaAdamVendor, RankOneWorks) {
  EmaCall vector = filled_call(ACL_FLOAT, {1}, 1);
  EXPECT_TRUE(vector.run_and_compare({}));
}

}  // namespace
}  // namespace openaclnn_test
