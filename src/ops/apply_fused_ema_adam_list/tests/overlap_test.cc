// ApplyFusedEmaAdamList: overlaps between a call's tensors, with few tensors and with thousands.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/apply_fused_ema_adam_list/tests/launch_cases.h"

namespace openaclnn_test {
namespace {

// grads[i] may be the same view as one ref with the same index, but not with another index.
TEST(EmaAdamListOverlap, GradMayBeTheIdenticalViewOfOneRefOfItsIndex) {
  for (size_t list = kVar; list < kCopy; ++list) {
    const Launch launch = remembering(list_launch(2, false));
    for (size_t index = 0; index < 2; ++index) {
      LaunchArguments arguments = valid_arguments(launch, nullptr, 0);
      const HostTensor& ref = launch.tensors[2 * list + index].tensor;
      arguments.tensors[1 - index] = ref.alias();
      const std::string at = "[" + std::to_string(index) + "]", other = "[" + std::to_string(1 - index) + "]";
      EXPECT_TRUE(refused(launch, arguments, kInvalid,
                          {kListNames[list] + at + " overlaps grads" + other, "same index"}));
      arguments = valid_arguments(launch, nullptr, 0);
      arguments.tensors[index] = HostTensor(ACL_FLOAT, {8, 8}, View{{1, 8}, 0}, ref, ref.data());
      EXPECT_TRUE(refused(launch, arguments, kInvalid, {kListNames[list] + at + " overlaps grads" + at}));
    }
    LaunchArguments identical = valid_arguments(launch, nullptr, 0);
    for (size_t index = 0; index < 2; ++index)
      identical.tensors[index] = launch.tensors[2 * list + index].tensor.alias();
    EXPECT_TRUE(succeeded(run_arguments(launch, identical)));
  }
}

// A grad of another dtype is never the identical view of a ref, not even at its address with its strides.
TEST(EmaAdamListOverlap, GradOfAnotherDtypeAtThePlacesOfARef) {
  const Launch launch = remembering(list_launch(2, false));
  HostTensor memory(ACL_FLOAT, {8, 16}), other(ACL_FLOAT, {8, 16});
  const View gaps = {{16, 2}, 0};
  const GuardedBuffer workspace(1 << 16);  // GPUs need one for mixed dtypes
  LaunchArguments arguments = valid_arguments(launch, workspace.data(), 1 << 16);
  for (size_t index = 0; index < 2; ++index)
    arguments.tensors[index] = HostTensor(ACL_BF16, {8, 8}, gaps, other, other.data());
  arguments.tensors[1] = HostTensor(ACL_BF16, {8, 8}, gaps, memory, memory.data());
  arguments.tensors[2 * kVar + 1] = HostTensor(ACL_FLOAT, {8, 8}, gaps, memory, memory.data());
  EXPECT_TRUE(
      refused(launch, arguments, kInvalid, {"varRefs[1] overlaps grads[1]; only the identical view"}));
}

// The expected result for every pair of written views in one memory, dense or not, from the definition.
struct Rectangle {
  int64_t offset, rows, columns, stride;

  bool is_dense() const { return rows == 1 || stride == columns; }
  bool overlaps(const Rectangle& other) const {
    const bool identical =
        offset == other.offset && rows == other.rows && columns == other.columns && stride == other.stride;
    const int64_t end = offset + rows * columns, other_end = other.offset + other.rows * other.columns;
    return identical || (is_dense() && other.is_dense() && offset < other_end && other.offset < end);
  }
};

TEST(EmaAdamListOverlap, IsFoundExactlyWhereItIsProvable) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const HostTensor memory(ACL_FLOAT, {4000});
  constexpr size_t kLength = 4;
  int refusals = 0;
  for (int call = 0; call < 3000; ++call) {
    // vRefs, sRefs and gradients have other memory; var and m of all indices share theirs.
    std::vector<IndexCase> indices(kLength, IndexCase{{2, 3}});
    indices[kLength - 1] = IndexCase{{10, 3}};  // a long tensor, which may contain several short ones
    ListCall list(indices, false);
    std::vector<Rectangle> views;
    for (size_t k : {size_t{kVar}, size_t{kM}}) {
      for (size_t n = 0; n < kLength; ++n) {
        const int64_t rows = n == kLength - 1 ? 10 : 2;
        Rectangle view = {random.below(90), rows, 3, random.chance(2) ? 3 : random.between(4, 6)};
        if (random.chance(2) && !views.empty()) {
          const Rectangle& other =
              views[static_cast<size_t>(random.below(static_cast<int64_t>(views.size())))];
          view.offset = other.offset;
          view.stride = other.stride;
        }
        if (!random.chance(3)) view.offset += 100 * static_cast<int64_t>(views.size());
        views.push_back(view);
        list(k, n) = HostTensor(ACL_FLOAT, {view.rows, view.columns}, View{{view.stride, 1}, view.offset},
                                memory, memory.data());
      }
    }
    const auto name = [](size_t k) {
      return (k < kLength ? "varRefs[" : "mRefs[") + std::to_string(k % kLength) + "]";
    };
    std::string wanted;
    for (size_t a = 0; a < views.size() && wanted.empty(); ++a) {
      for (size_t b = a + 1; b < views.size() && wanted.empty(); ++b) {
        if (views[a].overlaps(views[b])) wanted = name(a) + " overlaps " + name(b);
      }
    }
    Random data(1);
    list.fill_ordinary(data);
    const Outcome outcome = list.run(kAttributes);
    if (wanted.empty()) {
      ASSERT_TRUE(succeeded(outcome)) << "call " << call;
    } else {
      ASSERT_TRUE(failed_in_phase2(outcome, kListPhase2, kInvalid, {wanted})) << "call " << call;
      ++refusals;
    }
  }
  EXPECT_GT(refusals, 500);
  EXPECT_LT(refusals, 2500);
}

// With 20,000 tensors a check of all pairs would take minutes.
TEST(EmaAdamListOverlap, IsFoundAmongThousandsOfTensors) {
  constexpr int64_t kLength = 4000;
  const HostTensor memory(ACL_FLOAT, {kLength * 5 * 4});
  std::vector<std::vector<aclTensor*>> tensors(kCopy);
  const auto address = [&](int64_t k, int64_t n) {
    return static_cast<float*>(memory.data()) + ((n * 7919) % kLength * 5 + k) * 4;
  };
  for (int64_t k = 0; k < static_cast<int64_t>(kCopy); ++k) {
    for (int64_t n = 0; n < kLength; ++n) {
      tensors[static_cast<size_t>(k)].push_back(
          aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, address(k, n)));
    }
  }
  std::vector<aclTensorList*> lists;
  for (const auto& of_list : tensors) lists.push_back(aclCreateTensorList(of_list.data(), of_list.size()));
  const HostTensor step = step_tensor(3);
  const Descriptor step_descriptor = step.describe();
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
                lists[kGrad], lists[kVar], lists[kM], lists[kV], lists[kS], nullptr, step_descriptor.get(),
                nullptr, nullptr, 1e-3, .9999, .9, .999, 1e-8, 1, true, 0, &bytes, &executor),
            0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  use_device();
  ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, nullptr), 0) << take_error_text();
  ASSERT_EQ(aclSetDynamicTensorAddr(executor, kS, 3999, lists[kS], address(kM, 1234)), 0);
  ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, nullptr), kInvalid);
  EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kInvalid, {"mRefs[1234] overlaps sRefs[3999]"}));
  // All at one address: the first pair of the signature is reported.
  for (size_t n = 0; n < static_cast<size_t>(kLength); ++n)
    ASSERT_EQ(aclSetDynamicTensorAddr(executor, kVar, n, lists[kVar], memory.data()), 0);
  ASSERT_EQ(openaclnnApplyFusedEmaAdamList(nullptr, 0, executor, nullptr), kInvalid);
  EXPECT_TRUE(is_error_line(take_error_text(), kListPhase2, kInvalid, {"varRefs[0] overlaps varRefs[1];"}));
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  ASSERT_EQ(aclDestroyAclOpExecutor(executor), 0);
  for (aclTensorList* const of_list : lists) aclDestroyTensorList(of_list);
}

}  // namespace
}  // namespace openaclnn_test
