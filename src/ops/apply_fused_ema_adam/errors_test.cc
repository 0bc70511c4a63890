// ApplyFusedEmaAdam: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam/call_cases.h"
#include "support/phase1_faults.h"

namespace openaclnn_test {
namespace {

enum Number { kMode };

constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
constexpr const char* kEqual = "must be equal";

Phase1Test ema_test() {
  Phase1Test test;
  test.function = kEmaPhase1;
  for (const char* name : kEmaNames)
    test.valid.tensors.push_back({.name = name, .role = Role::reference, .dims = {4, 8}});
  test.valid.tensors[kGrad].role = Role::input;
  test.valid.tensors[kStep] = {.name = kEmaNames[kStep], .dtype = ACL_INT64, .dims = {1}};
  test.valid.numbers = {1};
  test.number_names = {"mode"};
  test.phase1 = [](const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return ema_adam_phase1({.mode = call.numbers[kMode]})(call.tensors, workspace_bytes, executor);
  };

  std::vector<Fault>& faults = test.faults;
  for (size_t k = kGrad; k < kStep; ++k) {
    faults.push_back(bad_dtype("grad, var, m, v, s: FLOAT, FLOAT16, BF16", k, ACL_INT32,
                               {std::string(kEmaNames[k]) + " has dtype ACL_INT32", kFloats}));
  }
  faults.push_back(
      bad_dtype("step INT64", kStep, ACL_FLOAT, {"step has dtype ACL_FLOAT; it must be ACL_INT64"}));
  for (size_t k = kVar; k < kStep; ++k) {
    faults.push_back(bad_dtype(
        "var, m, v, s = grad", k, ACL_FLOAT16,
        {std::string(kEmaNames[k]) + " has dtype ACL_FLOAT16", "grad has dtype ACL_FLOAT", kEqual}));
  }
  for (size_t k = kVar; k < kStep; ++k) {
    for (const auto& [dims, shape] : {std::pair(Shape{8, 4}, "[8, 4]"), {Shape{32}, "[32]"}}) {
      faults.push_back(
          bad_dims("var, m, v, s = grad", k, dims,
                   {std::string(kEmaNames[k]) + " has shape " + shape, "grad has shape [4, 8]", kEqual}));
    }
  }
  faults.push_back(
      bad_dims("step not empty", kStep, {3, 0}, {"step has shape [3, 0]", "at least one element"}));
  faults.push_back(bad_number(V7, "mode 0, 1", kMode, 2, {"mode is 2", "0", "1"}));
  return test;
}

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
  const Phase1Test test = ema_test();
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
TEST(DISABLED_EmaAdamVendor, TheFirstOfTwoFaultsDecides) {
  Phase1Test test = ema_test();
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
