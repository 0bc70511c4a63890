// ApplyAdamW: phase 2 refusals of both versions, and the modes of the process that change refusals.
#include <gtest/gtest.h>

#include <numeric>

#include "ops/apply_adam_w/tests/call_cases.h"
#include "support/phase2_refusals.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

const char* phase2_name(const AdamWSetup& s) {
  return s.version == 1 ? "aclnnApplyAdamW" : "aclnnApplyAdamWV2";
}

Launch adam_w_launch(const AdamWSetup& s, Placement placement = Placement::ends_at_guard,
                     const Shape& dims = {8, 8}) {
  return make_launch(phase2_name(s), adam_w_case(s, dims, Layout::contiguous, "launch"), placement);
}

// A maximum without amsgrad.
Launch launch_with_needless_maximum(const AdamWSetup& s, Placement placement) {
  Case made = adam_w_case(s, {8, 8}, Layout::contiguous, "in vain");
  made.phase1 = [s](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    if (s.version == 1) {
      return aclnnApplyAdamWGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9],
                                             t[10], t[11], false, false, workspace_bytes, executor);
    }
    return aclnnApplyAdamWV2GetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], .1f, .9f, .9f, .1f, 1e-8f,
                                             false, false, workspace_bytes, executor);
  };
  return make_launch(phase2_name(s), made, placement);
}

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const AdamWSetup& s : adam_w_all_setups()) {
    const std::string name = "Setup" + std::to_string(all.size() / 2);
    const auto of = [s](const Shape& dims) {
      return [=](Placement placement) { return adam_w_launch(s, placement, dims); };
    };
    all.push_back({.name = name, .make = of({8, 8}), .least_pairs = 400});
    std::vector<size_t> all_tensors(adam_w_case(s, {3, 0}, Layout::contiguous, "launch").tensors.size());
    std::iota(all_tensors.begin(), all_tensors.end(), size_t{0});
    all.push_back({.name = name + "Empty", .make = of({3, 0}), .not_accessed = all_tensors});
  }
  for (const int version : {1, 2}) {
    const AdamWSetup s = adam_w_setup(version, ACL_FLOAT, true);
    all.push_back({.name = "NeedlessMaximumOfV" + std::to_string(version),
                   .make = [s](Placement placement) { return launch_with_needless_maximum(s, placement); },
                   .not_accessed = {s.maximum_at()}});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(AdamW, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

// Each phase 2 runs the executors of both versions.
TEST(AdamWPhase2, TakesExecutorsOfTheOtherVersion) {
  for (AdamWSetup s : adam_w_all_setups()) {
    Launch launch = adam_w_launch(s);
    launch.phase2 = s.version == 1 ? aclnnApplyAdamWV2 : aclnnApplyAdamW;
    EXPECT_TRUE(succeeded(run_launch(launch)));
  }
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(AdamWSettings, Strict) { expect_suite_passes("AdamWStrict", {{"OPENACLNN_CHECK", "strict"}}); }
TEST(AdamWSettings, Silent) { expect_suite_passes("AdamWNotStrict", {{"OPENACLNN_CHECK", "silent"}}); }
TEST(AdamWSettings, Report) { expect_suite_passes("AdamWNotStrict", {{"OPENACLNN_CHECK", "report"}}); }
TEST(AdamWSettings, VendorLimits) { expect_suite_passes("AdamWVendor", {{"OPENACLNN_LIMITS", "vendor"}}); }

const RunOptions kLibraryMemory = {.workspace = Placement::library};

AdamWCall filled_call(const AdamWSetup& s, Placement placement = Placement::library) {
  use_device();
  AdamWCall call(s, {3000}, Layout::contiguous, placement);
  Random random(test_seed());
  call.fill_ordinary(random);
  return call;
}

AdamWSetup counting(aclDataType step_dtype) {
  AdamWSetup s = adam_w_setup(2, ACL_BF16, true);
  s.step_dtype = step_dtype;
  return s;
}

void expect_refused(AdamWCall& call, const std::string& shown) {
  call.remember();
  EXPECT_TRUE(failed_in_phase2(call.run(kLibraryMemory), "aclnnApplyAdamWV2", 507035,
                               {"step is " + shown + ";", "at least 0"}));
  EXPECT_TRUE(call.unchanged()) << "step " << shown;
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0) << "the fault counts as reported";
}

PROCESS_TEST(AdamWStrict, StepBelowZeroIsAFaultAndNothingIsWritten) {
  for (const int64_t step : {int64_t{-1}, int64_t{-7}, INT64_MIN}) {
    AdamWCall call = filled_call(counting(ACL_INT64));
    call.number(0).set_bits(0, static_cast<uint64_t>(step));
    expect_refused(call, std::to_string(step));
  }
  for (const auto& [step, shown] :
       {std::pair(-1., "-1"), {-2.5, "-2.5"}, {-1e30, "-1.00000002e+30"}, {std::nan(""), "nan"}}) {
    AdamWCall call = filled_call(counting(ACL_FLOAT));
    call.number(0).set(0, step);
    expect_refused(call, shown);
  }
  for (const aclDataType step_dtype : {ACL_INT64, ACL_FLOAT}) {
    AdamWCall call = filled_call(counting(step_dtype));
    call.number(0).set(0, 0);
    EXPECT_TRUE(call.run_and_compare(kLibraryMemory));
  }
}

PROCESS_TEST(AdamWStrict, NoNumberOfTheFirstVersionIsAFault) {
  AdamWCall call = filled_call(adam_w_setup(1, ACL_FLOAT));
  for (size_t k = 0; k < AdamWCall::kScalars; ++k) call.number(k).set(0, std::nan(""));
  EXPECT_TRUE(call.run_and_compare(kLibraryMemory));
}

PROCESS_TEST(AdamWNotStrict, StepBelowZeroFollowsIeee) {
  for (const int64_t step : {-1, -5}) {
    AdamWCall call = filled_call(counting(ACL_INT64), Placement::ends_at_guard);
    call.number(0).set_bits(0, static_cast<uint64_t>(step));
    EXPECT_TRUE(call.run_and_compare());
  }
}

// errors_test.cc tests its refusals.
PROCESS_TEST(AdamWVendor, RankOneWorks) {
  for (const AdamWSetup& s : adam_w_all_setups()) EXPECT_TRUE(filled_call(s).run_and_compare());
}

}  // namespace
}  // namespace openaclnn_test
