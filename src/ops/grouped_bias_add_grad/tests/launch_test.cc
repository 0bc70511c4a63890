// GroupedBiasAddGrad: what phase 2 of both versions refuses and what it does not need, and the modes of the process that change
// what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "support/expect.h"
#include "support/phase2_faults.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr aclDataType kFloatDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
constexpr aclDataType kIndexDtypes[] = {ACL_INT32, ACL_INT64};

// Which of the two functions of a version make and run the executor.
struct Versions {
  int plans, runs;
};
constexpr Versions kVersions[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};

Launch launch_of(const Versions& versions, int64_t group_index_type) {
  Launch launch;
  launch.function = versions.runs == 1 ? "aclnnGroupedBiasAddGrad" : "aclnnGroupedBiasAddGradV2";
  launch.phase2 = versions.runs == 1 ? aclnnGroupedBiasAddGrad : aclnnGroupedBiasAddGradV2;
  launch.phase1 = [first = versions.plans == 1, group_index_type](Handles t, uint64_t* workspace_bytes,
                                                                  aclOpExecutor** executor) {
    aclTensor* const group_index = t.size() == 3 ? t[1] : nullptr;
    return first ? aclnnGroupedBiasAddGradGetWorkspaceSize(t[0], group_index, t.back(), workspace_bytes,
                                                           executor)
                 : aclnnGroupedBiasAddGradV2GetWorkspaceSize(t[0], group_index, group_index_type, t.back(),
                                                             workspace_bytes, executor);
  };
  return launch;
}

LaunchTensor group_index(aclDataType dtype, std::initializer_list<double> entries, Placement placement) {
  LaunchTensor made =
      input_tensor("groupIdxOptional", dtype, {static_cast<int64_t>(entries.size())}, placement);
  if (entries.size() > 0) made.tensor.fill(entries);
  return made;
}

// 4 groups of 16 rows: the tensors gradY, groupIdx and out.
Launch with_groups(aclDataType dtype, aclDataType index_dtype, const Versions& versions = {2, 2},
                   int64_t group_index_type = 0, Placement placement = Placement::ends_at_guard,
                   const Shape& grad_y = {16, 8}) {
  Launch launch = launch_of(versions, group_index_type);
  launch.tensors.push_back(input_tensor("gradY", dtype, grad_y, placement));
  launch.tensors.push_back(group_index_type == 0 ? group_index(index_dtype, {4, 8, 8, 16}, placement)
                                                 : group_index(index_dtype, {4, 4, 0, 8}, placement));
  launch.tensors.push_back(output_tensor("out", dtype, {4, grad_y.back()}, placement));
  return launch;
}

// G groups of C rows: the tensors gradY and out.
Launch without_groups(aclDataType dtype, const Versions& versions = {2, 2}, const Shape& grad_y = {4, 4, 8},
                      Placement placement = Placement::ends_at_guard) {
  Launch launch = launch_of(versions, 0);
  launch.tensors.push_back(input_tensor("gradY", dtype, grad_y, placement));
  launch.tensors.push_back(output_tensor("out", dtype, {grad_y[0], grad_y[2]}, placement));
  return launch;
}

const Shape kLongGroups = {2, 1040, 4};  // more than one chunk of terms: sums of chunks lie in the workspace

// P3 too: both versions are one operator, and no other operator's executor is run.
TEST(GroupedBiasPhase2, TheFirstOfTwoFaultsDecides) {
  for (const Versions& versions : kVersions) {
    for (const aclDataType dtype : kFloatDtypes) {
      for (const aclDataType index_dtype : kIndexDtypes)
        EXPECT_GT(expect_launch_faults_in_order(with_groups(dtype, index_dtype, versions)), 200);
      EXPECT_GT(expect_launch_faults_in_order(without_groups(dtype, versions)), 50);
    }
  }
  EXPECT_GT(expect_launch_faults_in_order(without_groups(ACL_FLOAT, {2, 2}, kLongGroups)), 100);
}

TEST(GroupedBiasPhase2, RefusesMisalignedData) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes)
      expect_misaligned_data_refused(with_groups(dtype, index_dtype));
    expect_misaligned_data_refused(without_groups(dtype));
  }
}

std::vector<std::byte> out_bytes(const Launch& launch) {
  EXPECT_TRUE(succeeded(run_launch(launch)));
  return launch.tensors.back().tensor.all_bytes();
}

// P3: either phase 2 runs the executors of both, with the same bits.
TEST(GroupedBiasPhase2, TheVersionsAreOneOperator) {
  for (const aclDataType dtype : kFloatDtypes) {
    const std::vector<std::byte> wanted = out_bytes(with_groups(dtype, ACL_INT64));
    EXPECT_EQ(out_bytes(with_groups(dtype, ACL_INT64, {2, 2}, 1)), wanted) << "sizes instead of ends";
    const std::vector<std::byte> wanted_ungrouped = out_bytes(without_groups(dtype));
    for (const Versions& versions : kVersions) {
      EXPECT_EQ(out_bytes(with_groups(dtype, ACL_INT32, versions)), wanted);
      EXPECT_EQ(out_bytes(without_groups(dtype, versions)), wanted_ungrouped);
    }
  }
}

// P3 from the other side: another operator refuses the executor and consumes it.
TEST(GroupedBiasPhase2, AnotherOperatorConsumesTheExecutor) {
  use_device();
  for (const Versions& versions : kVersions) {
    const Launch launch = remembering(with_groups(ACL_FLOAT, ACL_INT64, versions));
    std::vector<Descriptor> tensors;
    std::vector<aclTensor*> handles;
    for (const LaunchTensor& t : launch.tensors) {
      tensors.push_back(t.tensor.describe());
      handles.push_back(tensors.back().get());
    }
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(launch.phase1(handles, &workspace_bytes, &executor), 0) << take_error_text();
    EXPECT_TRUE(failed_in_phase2(run_phase2(aclnnEmbedding, executor, workspace_bytes), "aclnnEmbedding",
                                 161002, {"executor was made by aclnnGroupedBiasAddGrad"}));
    EXPECT_TRUE(failed_in_phase2(run_phase2(launch.phase2, executor, workspace_bytes), launch.function,
                                 561000, {"executor is not live"}));
    for (const LaunchTensor& t : launch.tensors) EXPECT_TRUE(t.tensor.unchanged()) << t.name;
  }
}

bool only_zeros(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// P7, P9, P10 after V12: zeros into out need out only, an empty out needs nothing; groupIdx is not read then, so wrong entries
// are no fault.
TEST(GroupedBiasPhase2, NeedsOnlyWhatItAccesses) {
  for (const aclDataType dtype : kFloatDtypes) {
    expect_only_needed_memory_matters(with_groups(dtype, ACL_INT32));
    expect_only_needed_memory_matters(without_groups(dtype));
    expect_only_needed_memory_matters(without_groups(dtype, {2, 2}, kLongGroups));

    Launch no_rows = not_accessing(with_groups(dtype, ACL_INT64), {0, 1});
    no_rows.tensors[0] = input_tensor("gradY", dtype, {0, 8});
    no_rows.tensors[0].is_accessed = false;
    no_rows.tensors[1].tensor.fill({-5, 1e15, 3, 2});
    const Launch no_rows_ungrouped = not_accessing(without_groups(dtype, {2, 2}, {4, 0, 8}), {0});
    for (const Launch& zeros : {no_rows, no_rows_ungrouped}) {
      EXPECT_EQ(required_workspace(zeros), 0u);
      expect_only_needed_memory_matters(zeros);
      EXPECT_TRUE(only_zeros(out_bytes(zeros)));
      EXPECT_GT(expect_launch_faults_in_order(zeros), 5);
    }

    Launch no_groups = launch_of({2, 2}, 0);
    no_groups.tensors = {input_tensor("gradY", dtype, {16, 8}),
                         group_index(ACL_INT64, {}, Placement::ends_at_guard),
                         output_tensor("out", dtype, {0, 8})};
    const Launch no_columns = with_groups(dtype, ACL_INT64, {2, 2}, 0, Placement::ends_at_guard, {16, 0});
    for (const Launch& nothing : {no_groups, no_columns}) {
      EXPECT_EQ(required_workspace(nothing), 0u);
      expect_only_needed_memory_matters(not_accessing(nothing, {0, 1, 2}));
    }
    const Launch no_groups_ungrouped = without_groups(dtype, {2, 2}, {0, 4, 8});
    const Launch no_columns_ungrouped = without_groups(dtype, {2, 2}, {4, 4, 0});
    for (const Launch& nothing : {no_groups_ungrouped, no_columns_ungrouped})
      expect_only_needed_memory_matters(not_accessing(nothing, {0, 1}));
  }
}

TEST(GroupedBiasPhase2, AcceptsNeighbours) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes)
      expect_neighbours_work(with_groups(dtype, index_dtype));
    expect_neighbours_work(without_groups(dtype));
    expect_neighbours_work(without_groups(dtype, {2, 2}, kLongGroups));
  }
}

// With groupIdx out is index 2 of aclSetTensorAddr, without it index 1.
TEST(GroupedBiasPhase2, TakesNewAddresses) {
  for (const Versions& versions : kVersions) {
    expect_address_updates_work(with_groups(ACL_FLOAT, ACL_INT64, versions));
    expect_address_updates_work(without_groups(ACL_FLOAT, versions));
  }
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(GroupedBiasSettings, StrictMemory) {
  const ProcessResult result = run_suite("GroupedBiasStrictMemory", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

PROCESS_TEST(GroupedBiasStrictMemory, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const aclDataType index_dtype : kIndexDtypes)
      expect_unknown_memory_refused(with_groups(dtype, index_dtype, {2, 2}, 0, Placement::library));
    expect_unknown_memory_refused(without_groups(dtype, {1, 1}, kLongGroups, Placement::library));
  }
}

// Nothing is read and no row is left over when there are no rows.
PROCESS_TEST(GroupedBiasStrictMemory, WithoutRowsThereIsNoFault) {
  Launch zeros = with_groups(ACL_FLOAT, ACL_INT64, {2, 2}, 0, Placement::library, {0, 8});
  zeros.tensors[1].tensor.fill({-5, 1e15, 3, 2});
  EXPECT_TRUE(only_zeros(out_bytes(zeros)));
}

}  // namespace
}  // namespace openaclnn_test
