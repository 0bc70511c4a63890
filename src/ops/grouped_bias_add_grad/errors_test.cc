// GroupedBiasAddGrad: every refusal of phase 1 of both versions, with and without groupIdx, with its code, its sentence and its
// place in the order of checks.
#include <gtest/gtest.h>

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "support/expect.h"
#include "support/phase1_faults.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

enum Tensor { kGradY, kGroupIdx, kOut };
enum Number { kGroupIdxType };

constexpr aclDataType kFloatDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
constexpr aclDataType kIndexDtypes[] = {ACL_INT32, ACL_INT64};

struct Version {
  int number;    // 1 or 2
  bool grouped;  // groupIdx is given
};
constexpr Version kVersions[] = {{1, true}, {1, false}, {2, true}, {2, false}};

std::string name_of(const Version& version) {
  return std::string(version.number == 1 ? "first" : "second") + " version " +
         (version.grouped ? "with" : "without") + " groupIdx";
}

std::vector<Part> all_of_group_index() {
  return {{Part::handle, kGroupIdx},
          {Part::dtype, kGroupIdx},
          {Part::dims, kGroupIdx},
          {Part::format, kGroupIdx}};
}

// Faults of the dims, V6: 12 rows in 3 groups, or 3 groups of 4 rows; 8 columns.
std::vector<Fault> shape_faults(bool grouped) {
  std::vector<Part> both = all_of_group_index();
  both.push_back({Part::dims, kGradY});
  if (!grouped) {
    const std::string rank = "its rank must be 3: [G, C, H] without groupIdxOptional";
    return {
        bad_dims("groupIdx NULL: gradY rank 3", kGradY, {12, 8}, {"gradY has shape [12, 8]", rank}),
        bad_dims("groupIdx NULL: gradY rank 3", kGradY, {3, 4, 8, 1}, {"gradY has shape [3, 4, 8, 1]", rank}),
        bad_call(V6, "groupIdx given: gradY rank 2", both,
                 [](CallArguments& a) { a.tensors[kGroupIdx].handle = Handle::live; },
                 {"gradY has shape [3, 4, 8]", "its rank must be 2: [R, H] with groupIdxOptional"}),
    };
  }
  const std::string rank = "its rank must be 2: [R, H] with groupIdxOptional";
  return {
      bad_dims("groupIdx given: gradY rank 2", kGradY, {3, 4, 8}, {"gradY has shape [3, 4, 8]", rank}),
      bad_dims("groupIdx given: gradY rank 2", kGradY, {}, {"gradY has shape []", rank}),
      bad_call(V6, "groupIdx NULL: gradY rank 3", both,
               [](CallArguments& a) { a.tensors[kGroupIdx].handle = Handle::null; },
               {"gradY has shape [12, 8]", "its rank must be 3: [G, C, H] without groupIdxOptional"}),
      bad_dims("groupIdx given: groupIdx rank 1", kGroupIdx, {3, 1},
               {"groupIdxOptional has shape [3, 1]", "its rank must be 1"}),
      bad_dims("groupIdx given: groupIdx rank 1", kGroupIdx, {},
               {"groupIdxOptional has shape []", "its rank must be 1"}),
      bad_call(V6, "out rank 2 = [G, H]", {{Part::dims, kGroupIdx}, {Part::dims, kOut}},
               [](CallArguments& a) { a.tensors[kGroupIdx].dims = {4}; },
               {"out has shape [3, 8]; it must be [G, H] = [4, 8]"}),
  };
}

Phase1Test bias_test(const Version& version) {
  const bool grouped = version.grouped;
  Phase1Test test;
  test.function = version.number == 1 ? "aclnnGroupedBiasAddGradGetWorkspaceSize"
                                      : "aclnnGroupedBiasAddGradV2GetWorkspaceSize";
  test.valid.tensors = {{.name = "gradY", .dims = grouped ? Shape{12, 8} : Shape{3, 4, 8}},
                        {.name = "groupIdxOptional",
                         .dtype = ACL_INT64,
                         .dims = {3},
                         .is_optional = true,
                         .handle = grouped ? Handle::live : Handle::null},
                        {.name = "out", .role = Role::output, .dims = {3, 8}}};
  test.valid.numbers = {0};
  test.number_names = {"groupIdxType"};
  test.phase1 = [first = version.number == 1](const CallHandles& call, uint64_t* workspace_bytes,
                                              aclOpExecutor** executor) {
    const auto& t = call.tensors;
    return first ? aclnnGroupedBiasAddGradGetWorkspaceSize(t[kGradY], t[kGroupIdx], t[kOut], workspace_bytes,
                                                           executor)
                 : aclnnGroupedBiasAddGradV2GetWorkspaceSize(t[kGradY], t[kGroupIdx],
                                                             call.numbers[kGroupIdxType], t[kOut],
                                                             workspace_bytes, executor);
  };

  std::vector<Fault>& faults = test.faults;
  faults.push_back(bad_dtype("gradY FLOAT, FLOAT16, BF16", kGradY, ACL_INT32,
                             {"gradY has dtype ACL_INT32", "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16"}));
  if (grouped) {
    faults.push_back(bad_dtype("groupIdx INT32, INT64", kGroupIdx, ACL_INT16,
                               {"groupIdxOptional has dtype ACL_INT16; it must be ACL_INT32 or ACL_INT64"}));
  }
  faults.push_back(bad_dtype("out = gradY", kOut, ACL_BF16,
                             {"out has dtype ACL_BF16 but gradY has dtype ACL_FLOAT; they must be equal"}));
  for (Fault& fault : shape_faults(grouped)) faults.push_back(std::move(fault));
  for (const auto& [dims, shape] : {std::pair(Shape{24}, "[24]"),
                                    {Shape{3, 8, 1}, "[3, 8, 1]"},
                                    {Shape{4, 8}, "[4, 8]"},
                                    {Shape{3, 9}, "[3, 9]"}}) {
    faults.push_back(bad_dims("out rank 2 = [G, H]", kOut, dims,
                              {std::string("out has shape ") + shape + "; it must be [G, H] = [3, 8]"}));
  }
  if (version.number == 2) {
    faults.push_back(bad_number(V7, "groupIdxType 0 or 1, also when groupIdx is NULL", kGroupIdxType, 2,
                                {"groupIdxType is 2; it must be 0", "or 1"}));
  }
  return test;
}

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
    const Phase1Test test = bias_test(version);
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
    const Phase1Test test = bias_test(version);
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
      const Phase1Test test = bias_test({number, shapes.grouped});
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
  const Phase1Test test = bias_test({2, true});
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

CallArguments with_groups(const Phase1Test& test, int64_t groups) {
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
    const Phase1Test test = bias_test(version);
    for (const int64_t groups : {1, 2048, 2049, 1000000})
      EXPECT_EQ(test.run(with_groups(test, groups)).phase1, 0);
  }
}

TEST(DISABLED_GroupedBiasVendor, TheFirstOfTwoFaultsDecides) {
  for (const Version& version : kVersions) {
    SCOPED_TRACE(name_of(version));
    Phase1Test test = bias_test(version);
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
