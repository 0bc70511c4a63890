// GroupedBiasAddGrad: every refusal of phase 1 of both versions, with and without groupIdx, with its code, its sentence and its
// place in the order of checks.
#include <gtest/gtest.h>

#include "ops/grouped_bias_add_grad/tests/schema.h"
#include "support/expect.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

using namespace grouped_bias_add_grad_schema;

TEST(GroupedBiasPhase1, EveryFaultHasItsCodeAndSentence) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(name_of(version));
    expect_every_fault_is_found(bias_test(version));
  }
}
TEST(GroupedBiasPhase1, TheFirstOfTwoFaultsDecides) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(name_of(version));
    EXPECT_GT(expect_first_of_two_faults_decides(bias_test(version)), 300);
  }
}
TEST(GroupedBiasPhase1, AcceptsExactlyTheListedDtypes) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(name_of(version));
    const Schema test = bias_test(version);
    expect_exactly_these_dtypes(test, {kGradY, kOut}, kFloatDtypes);
    if (version.grouped) expect_exactly_these_dtypes(test, {kGroupIdx}, kIndexDtypes);
  }
}
TEST(GroupedBiasPhase1, RefusesExtentsThatLeaveInt64) {
  for (const Version& version : kVersions) expect_extents_within_int64(bias_test(version));
}
TEST(GroupedBiasPhase1, RefusesEveryOtherGroupIdxType) {
  for (const Version& version : kVersions) {
    if (version.number == 1) continue;
    const Schema test = bias_test(version);
    expect_refused_numbers(test, kGroupIdxType, {-1, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1},
                           [](int64_t type) { return "groupIdxType is " + std::to_string(type) + ";"; });
    CallArguments sizes = test.valid;
    sizes.numbers = {1};
    EXPECT_EQ(test.run(sizes).phase1, 0);
  }
}
TEST(GroupedBiasPhase1, AcceptsExactlyThePlainFormats) {
  for (const Version& version : kVersions) expect_exactly_the_plain_formats(bias_test(version));
}
TEST(GroupedBiasPhase1, RefusesAnOutThatOverlapsItselfButNotInputs) {
  for (const Version& version : kVersions) expect_distinct_outputs(bias_test(version));
}

// V12: without rows, columns or groups no workspace is asked for, and an empty out may have any strides.
TEST(GroupedBiasPhase1, EmptyTensorsPass) {
  struct Shapes {
    bool grouped;
    Shape grad_y, group_index, out;
  };
  const Shapes all[] = {{true, {0, 8}, {3}, {3, 8}},    {true, {12, 0}, {3}, {3, 0}},
                        {true, {12, 8}, {0}, {0, 8}},   {true, {0, 0}, {0}, {0, 0}},
                        {true, {0, 8}, {0}, {0, 8}},    {false, {3, 0, 8}, {}, {3, 8}},
                        {false, {3, 4, 0}, {}, {3, 0}}, {false, {0, 4, 8}, {}, {0, 8}}};
  for (const Shapes& shapes : all) {
    for (const int number : {1, 2}) {
      const Schema test = bias_test({number, shapes.grouped});
      CallArguments arguments = test.valid;
      arguments.tensors[kGradY].dims = shapes.grad_y;
      arguments.tensors[kGroupIdx].dims = shapes.group_index;
      arguments.tensors[kOut].dims = shapes.out;
      if (shapes.out[0] * shapes.out[1] == 0) arguments.tensors[kOut].strides = {0, 0};
      const Outcome outcome = test.run(arguments);
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      EXPECT_EQ(outcome.workspace_bytes, 0u) << testing::PrintToString(shapes.grad_y);
    }
  }
}

// V13: any number of groups can be described with stride 0, but not all have a workspace.
TEST(GroupedBiasPhase1, RefusesAWorkspaceThatLeavesInt64) {
  const int64_t groups = int64_t{1} << 60;
  const Schema test = bias_test({2, true});
  CallArguments arguments = test.valid;
  arguments.tensors[kGradY].dtype = arguments.tensors[kOut].dtype = ACL_FLOAT16;
  arguments.tensors[kGradY].dims = {12, 1};
  arguments.tensors[kGroupIdx].dtype = ACL_INT32;
  arguments.tensors[kGroupIdx].dims = {groups};
  arguments.tensors[kGroupIdx].strides = {0};
  arguments.tensors[kOut].dims = {groups, 1};
  EXPECT_TRUE(failed_in_phase1(test.run(arguments), test.function, 561101,
                               {"Failed to allocate", std::to_string(groups) + " groups"}));
}

// ---- limits of the vendor, in a process of their own ----

TEST(GroupedBiasLimits, Vendor) {
  const ProcessResult result = run_suite("GroupedBiasVendor", {{"OPENACLNN_LIMITS", "vendor"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

CallArguments with_groups(const Schema& test, int64_t groups) {
  CallArguments arguments = test.valid;
  if (arguments.tensors[kGroupIdx].handle == Handle::null) {
    arguments.tensors[kGradY].dims = {groups, 4, 8};
  } else {
    arguments.tensors[kGroupIdx].dims = {groups};
  }
  arguments.tensors[kOut].dims = {groups, 8};
  return arguments;
}

TEST(GroupedBiasPhase1, AcceptsAnyNumberOfGroups) {
  for (const Version& version : kVersions) {
    const Schema test = bias_test(version);
    for (const int64_t groups : {1, 2048, 2049, 1000000})
      EXPECT_EQ(test.run(with_groups(test, groups)).phase1, 0);
  }
}

PROCESS_TEST(GroupedBiasVendor, TheFirstOfTwoFaultsDecides) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(name_of(version));
    Schema test = bias_test(version);
    if (version.grouped) {
      test.faults.push_back(
          bad_call(V11, "G <= 2048 when groupIdx is given",
                   {{Part::dims, kGroupIdx}, {Part::dims, kOut}, {Part::handle, kGroupIdx}},
                   [](CallArguments& a) {
                     a.tensors[kGroupIdx].dims = {2049};
                     a.tensors[kOut].dims = {2049, 8};
                   },
                   {"groupIdxOptional has 2049 groups; OPENACLNN_LIMITS=vendor accepts at most 2048"}));
    }
    expect_every_fault_is_found(test);
    EXPECT_GT(expect_first_of_two_faults_decides(test), 300);
    EXPECT_EQ(test.run(with_groups(test, 2048)).phase1, 0);
    EXPECT_EQ(test.run(with_groups(test, 2049)).phase1, version.grouped ? kInvalid : 0);
  }
}

}  // namespace
}  // namespace openaclnn_test
