// GroupedBiasAddGrad: phase 2 refusals of both versions, optional memory, and the modes of the process that
// change refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "support/expect.h"
#include "support/phase2_refusals.h"
#include "support/subprocess.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

// The functions of a version that make and run the executor.
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

const Shape kLongGroups = {2, 1040, 4};  // more than one chunk of terms: chunk sums are in the workspace

// Writing zeros into out requires only out. groupIdx is not read then, so faulty entries are not a fault.
Launch without_rows(aclDataType dtype, Placement placement) {
  Launch launch = with_groups(dtype, ACL_INT64, {2, 2}, 0, placement, {0, 8});
  launch.tensors[1].tensor.fill({-5, 1e15, 3, 2});
  return launch;
}

Launch of_no_groups(aclDataType dtype, Placement placement) {
  Launch launch = launch_of({2, 2}, 0);
  launch.tensors = {input_tensor("gradY", dtype, {16, 8}), group_index(ACL_INT64, {}, placement),
                    output_tensor("out", dtype, {0, 8})};
  return launch;
}

// Both versions are one operator and reject executors of other operators. With groupIdx out is index 2 of
// aclSetTensorAddr, without it index 1.
std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kFloatDtypes) {
    const std::string name = dtype_name(dtype);
    for (const Versions& versions : kVersions) {
      const std::string pair = name + std::to_string(versions.plans) + std::to_string(versions.runs);
      for (const aclDataType index_dtype : kIndexDtypes) {
        all.push_back(
            {.name = pair + dtype_name(index_dtype),
             .make =
                 [=](Placement placement) { return with_groups(dtype, index_dtype, versions, 0, placement); },
             .least_pairs = 200});
      }
      all.push_back({.name = pair + "Ungrouped",
                     .make =
                         [=](Placement placement) {
                           return without_groups(dtype, versions, {4, 4, 8}, placement);
                         },
                     .least_pairs = 50});
    }
    const auto ungrouped = [dtype](const Shape& grad_y) {
      return [=](Placement placement) { return without_groups(dtype, {2, 2}, grad_y, placement); };
    };
    all.push_back({.name = name + "LongGroups", .make = ungrouped(kLongGroups), .least_pairs = 100});
    const auto add = [&](const char* what, std::function<Launch(Placement)> make,
                         std::vector<size_t> not_accessed) {
      all.push_back({.name = name + what,
                     .make = std::move(make),
                     .not_accessed = std::move(not_accessed),
                     .needs_workspace = false});
    };
    add("WithoutRows", [=](Placement placement) { return without_rows(dtype, placement); }, {0, 1});
    add("UngroupedWithoutRows", ungrouped({4, 0, 8}), {0});
    // An empty out requires nothing.
    add("WithoutGroups", [=](Placement placement) { return of_no_groups(dtype, placement); }, {0, 1, 2});
    add("WithoutColumns",
        [=](Placement placement) {
          return with_groups(dtype, ACL_INT64, {2, 2}, 0, placement, {16, 0});
        },
        {0, 1, 2});
    add("UngroupedWithoutGroups", ungrouped({0, 4, 8}), {0, 1});
    add("UngroupedWithoutColumns", ungrouped({4, 4, 0}), {0, 1});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(GroupedBias, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

std::vector<std::byte> out_bytes(const Launch& launch) {
  EXPECT_TRUE(succeeded(run_launch(launch)));
  return launch.tensors.back().tensor.all_bytes();
}

// Both phase 2 functions run the executors of both versions, with the same bits.
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

// Another operator rejects the executor and consumes it.
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
    const std::string version = versions.plans == 1 ? "" : "V2";
    const std::string made_by = "created by aclnnGroupedBiasAddGrad" + version + "GetWorkspaceSize";
    EXPECT_TRUE(failed_in_phase2(run_phase2(aclnnEmbedding, executor, workspace_bytes), "aclnnEmbedding",
                                 161002, {made_by, "passed to aclnnGroupedBiasAddGrad" + version}));
    EXPECT_TRUE(failed_in_phase2(run_phase2(launch.phase2, executor, workspace_bytes), launch.function,
                                 561000, {"executor is not live"}));
    for (const LaunchTensor& t : launch.tensors) EXPECT_TRUE(t.tensor.unchanged()) << t.name;
  }
}

bool only_zeros(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(GroupedBiasPhase2, WithoutRowsOutBecomesZeros) {
  for (const aclDataType dtype : kFloatDtypes) {
    EXPECT_TRUE(only_zeros(out_bytes(without_rows(dtype, Placement::ends_at_guard))));
    EXPECT_TRUE(only_zeros(out_bytes(without_groups(dtype, {2, 2}, {4, 0, 8}))));
  }
}

// ---- Settings of the process: each suite runs in its own process ----

TEST(GroupedBiasSettings, StrictMemory) {
  expect_suite_passes("GroupedBiasStrictMemory", {{"OPENACLNN_CHECK", "strict"}});
}

// Without rows nothing is read, and no row remains.
PROCESS_TEST(GroupedBiasStrictMemory, WithoutRowsThereIsNoFault) {
  EXPECT_TRUE(only_zeros(out_bytes(without_rows(ACL_FLOAT, Placement::library))));
}

}  // namespace
}  // namespace openaclnn_test
