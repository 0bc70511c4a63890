// ApplyAdamW: every refusal of phase 1 of both versions, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/apply_adam_w/tests/schema.h"
#include "support/expect.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

using namespace apply_adam_w_schema;

class AdamWPhase1 : public testing::TestWithParam<Form> {
 protected:
  Schema test() const { return adam_w_test(GetParam()); }
  int version() const { return GetParam().version; }
  size_t maximum() const { return maximum_at(version()); }
};

TEST_P(AdamWPhase1, EveryFaultHasItsCodeAndSentence) { expect_every_fault_is_found(test()); }
TEST_P(AdamWPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(test()), 1000);
}
TEST_P(AdamWPhase1, AcceptsExactlyThreeDtypes) {
  const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}, steps[] = {ACL_INT64, ACL_FLOAT};
  std::vector<size_t> together = {0, 1, 2, grad_at(version())};
  if (GetParam().amsgrad) together.push_back(maximum());
  for (size_t k = 3; version() == 1 && k < 10; ++k) together.push_back(k);
  expect_exactly_these_dtypes(test(), together, floats);
  if (version() == 2) expect_exactly_these_dtypes(test(), {5}, steps);
}
TEST_P(AdamWPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(test()); }
TEST_P(AdamWPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(test()); }
TEST_P(AdamWPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) { expect_distinct_outputs(test()); }

// A maximum that amsgrad does not ask for is checked all the same.
TEST_P(AdamWPhase1, AMaximumMayBeGivenInVain) {
  if (GetParam().amsgrad) return;
  const Schema schema = test();
  CallArguments call = schema.valid;
  call.tensors[maximum()].handle = Handle::live;
  EXPECT_EQ(schema.run(call).phase1, 0);
  call.tensors[maximum()].dims = {8, 4};
  EXPECT_TRUE(failed_in_phase1(schema.run(call), schema.function, kInvalid,
                               {std::string(call.tensors[maximum()].name) + " has shape [8, 4]"}));
}

// Every mix of three dtypes for varRef (and the moments), grad and the maximum.
TEST_P(AdamWPhase1, AcceptsExactlyTheMixesOfDtypes) {
  if (!GetParam().amsgrad) return;
  const Schema schema = test();
  const aclDataType floats[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
  int accepted = 0;
  for (const aclDataType var : floats) {
    for (const aclDataType grad : floats) {
      for (const aclDataType largest : floats) {
        CallArguments call = schema.valid;
        for (size_t k = 0; k < call.tensors.size(); ++k) {
          if (version() == 1 || k < 3) call.tensors[k].dtype = var;
        }
        call.tensors[grad_at(version())].dtype = grad;
        call.tensors[maximum()].dtype = largest;
        accepted += schema.run(call).phase1 == 0;
      }
    }
  }
  EXPECT_EQ(accepted, version() == 1 ? 3 : 3 + 2 * 2);
}

// V12: empty tensors have no elements that could overlap, and nothing is asked for them.
TEST_P(AdamWPhase1, EmptyTensorsPass) {
  const Schema schema = test();
  CallArguments empty = schema.valid;
  for (TensorArgument& tensor : empty.tensors) {
    if (tensor.dims == Shape{4, 8}) {
      tensor.dims = {4, 0};
      tensor.strides = {0, 0};
    }
  }
  const Outcome outcome = schema.run(empty);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_EQ(outcome.workspace_bytes, 0u);
}

// V11; runs in the process that launch_test.cc starts.
PROCESS_TEST(AdamWVendor, RefusesRankZero) {
  for (const Form& form : kForms) {
    Schema schema = adam_w_test(form);
    std::vector<Part> all_dims;
    std::vector<size_t> large;
    for (size_t k = 0; k < schema.valid.tensors.size(); ++k) {
      if (schema.valid.tensors[k].dims != Shape{4, 8}) continue;
      all_dims.push_back({Part::dims, k});
      large.push_back(k);
    }
    schema.faults.push_back(bad_call(V11, "rank >= 1", all_dims,
                                     [large](CallArguments& a) {
                                       for (const size_t k : large) a.tensors[k].dims.clear();
                                     },
                                     {"varRef has rank 0", "OPENACLNN_LIMITS=vendor"}));
    expect_every_fault_is_found(schema);
    EXPECT_GT(expect_first_of_two_faults_decides(schema), 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, AdamWPhase1, testing::ValuesIn(kForms), [](const auto& form) {
  return "V" + std::to_string(form.param.version) + (form.param.amsgrad ? "amsgrad" : "");
});

}  // namespace
}  // namespace openaclnn_test
