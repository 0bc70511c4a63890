// ApplyFusedEmaAdam: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "ops/apply_fused_ema_adam/tests/schema.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

using namespace apply_fused_ema_adam_schema;

TEST(EmaAdamPhase1, EveryFaultHasItsCodeAndSentence) { expect_every_fault_is_found(ema_test()); }
TEST(EmaAdamPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(ema_test()), 2000);
}
TEST(EmaAdamPhase1, AcceptsExactlyThreeDtypes) {
  const aclDataType step_dtypes[] = {ACL_INT64};
  expect_exactly_these_dtypes(ema_test(), {kGrad, kVar, kM, kV, kS}, kEmaDtypes);
  expect_exactly_these_dtypes(ema_test(), {kStep}, step_dtypes);
}
TEST(EmaAdamPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(ema_test()); }
TEST(EmaAdamPhase1, RefusesEveryOtherMode) {
  expect_refused_numbers(ema_test(), kMode, {-1, 2, int64_t{1} << 32},
                         [](int64_t mode) { return "mode is " + std::to_string(mode); });
}
TEST(EmaAdamPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(ema_test()); }
TEST(EmaAdamPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) { expect_distinct_outputs(ema_test()); }

// V12: empty tensors have no elements that could overlap, and nothing is asked for them.
TEST(EmaAdamPhase1, EmptyTensorsPass) {
  const Schema test = ema_test();
  CallArguments empty = test.valid;
  for (size_t k = kGrad; k < kStep; ++k) {
    empty.tensors[k].dims = {4, 0};
    empty.tensors[k].strides = {0, 0};
  }
  const Outcome outcome = test.run(empty);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_EQ(outcome.workspace_bytes, 0u);
}

// V11; runs in the process that launch_test.cc starts.
PROCESS_TEST(EmaAdamVendor, TheFirstOfTwoFaultsDecides) {
  Schema test = ema_test();
  std::vector<Part> all_dims;
  for (size_t k = kGrad; k < kStep; ++k) all_dims.push_back({Part::dims, k});
  test.faults.push_back(bad_call(V11, "rank >= 1", all_dims,
                                 [](CallArguments& a) {
                                   for (size_t k = kGrad; k < kStep; ++k) a.tensors[k].dims.clear();
                                 },
                                 {"grad has rank 0", "OPENACLNN_LIMITS=vendor"}));
  expect_every_fault_is_found(test);
  EXPECT_GT(expect_first_of_two_faults_decides(test), 2000);
}

}  // namespace
}  // namespace openaclnn_test
