// Tests the checks of phase 2 one by one, in order, each with code and error message, and the values that
// they do not write. Two devices.
// (Missing and small workspaces are tested with the operators that need one.)
#include <algorithm>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment two_devices("OPENACLNN_CPU_DEVICES", "2");

class Phase2Test : public RuntimeTest {
 protected:
  // A plan of EmaAdam with tensors at the given addresses (in elements of `memory`), each of `count`
  // elements.
  aclOpExecutor* planned_at(std::vector<std::ptrdiff_t> at, int64_t count, bool bias_correction = false) {
    std::vector<aclTensor*> t;
    for (std::ptrdiff_t offset : at) t.push_back(make_tensor({count}, ACL_FLOAT, memory + offset));
    t.push_back(make_tensor({1}, ACL_INT64, step_address));
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    expect(0, aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], -1, 0, 0, 0, 0, 1,
                                                     bias_correction, 0, &bytes, &executor));
    EXPECT_EQ(bytes, 0u);
    for (aclTensor* tensor : t) expect(0, aclDestroyTensor(tensor));
    return executor;
  }
  int run(aclOpExecutor* executor) { return aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream); }

  alignas(64) float memory[1000] = {};
  int64_t step = 1;
  void* step_address = &step;
};

TEST_F(Phase2Test, TheFirstFailingCheckDecides) {
  Counter counter;
  aclTensor* t1 = counter.tensor(1);
  // Everything is wrong at first; then one error after the other is corrected.
  aclOpExecutor* executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  expect(0, aclSetTensorAddr(executor, 1, t1, nullptr));
  expect(0, aclSetTensorAddr(executor, 2, counter.tensor(2), reinterpret_cast<char*>(counter.grad()) + 2));
  void* stale_stream = counter.grad();
  std::thread([&] {
    expect(161001, aclnnEmbedding(nullptr, 0, nullptr, stale_stream), {"executor is NULL"});
    expect(561000, aclnnEmbedding(nullptr, 0, reinterpret_cast<aclOpExecutor*>(t1), stale_stream),
           {"not live"});
    expect(161002, aclnnEmbedding(nullptr, 0, executor, stale_stream),
           {"was created by aclnnApplyFusedEmaAdam"});
    expect(107002, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stale_stream), {"no current context"});
  }).join();
  expect(107017, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stale_stream), {"stream is not a live stream"});
  expect(0, aclrtSetDevice(1));
  expect(107003, run(executor), {"stream belongs to device 0 but the current context belongs to device 1"});
  expect(0, aclrtResetDevice(1));
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtResetDevice(0));
  expect(161001, run(executor), {"varRef has a NULL data address"});
  expect(0, aclSetTensorAddr(executor, 1, t1, counter.grad()));
  expect(161002, run(executor), {"mRef", "not a multiple of 4 bytes, the size of ACL_FLOAT"});
  expect(0, aclSetTensorAddr(executor, 2, counter.tensor(2), counter.grad()));
  expect(161002, run(executor), {"varRef overlaps mRef"});
  EXPECT_TRUE(is_idle(stream));
  EXPECT_EQ(*counter.grad(), 1.0f);
  expect(0, aclDestroyAclOpExecutor(executor));
}

TEST_F(Phase2Test, AStreamMayBelongToAnyContextOfTheDevice) {
  aclrtContext context = nullptr;
  expect(0, aclrtCreateContext(&context, 0));
  Counter counter;
  expect(0, counter.add(stream));  // of the default context
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclrtDestroyContext(context));
  expect(107002, counter.add(stream), {"was destroyed"});
}

TEST_F(Phase2Test, WorkspaceMayBeAnythingWhenNoneIsNeeded) {
  Counter counter;
  for (uint64_t size : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    expect(0, aclnnApplyFusedEmaAdam(reinterpret_cast<void*>(1), size, counter.planned(), stream));
    expect(0, aclnnApplyFusedEmaAdam(nullptr, size, counter.planned(), stream));
  }
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 6.0f);
}

// Kernels keep checked numbers in the workspace, so outputs must not write there. Gaps of an output are free.
TEST_F(Phase2Test, NoElementOfAnOutputMayBeInTheWorkspace) {
  const std::vector<int64_t> dims = {4, 8}, strides = {64, 2};
  float grad[4][8] = {};
  int64_t ends[4] = {1, 2, 3, 4};
  for (float* row : {grad[0], grad[1], grad[2], grad[3]}) std::fill(row, row + 8, 1.0f);
  aclTensor* const t[] = {
      make_tensor(dims, ACL_FLOAT, grad), make_tensor({4}, ACL_INT64, ends),
      aclCreateTensor(dims.data(), 2, ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND, dims.data(), 2, memory)};
  const auto run_with = [&](std::ptrdiff_t workspace) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    expect(0, aclnnGroupedBiasAddGradGetWorkspaceSize(t[0], t[1], t[2], &bytes, &executor));
    EXPECT_LE(bytes, 48 * sizeof(float)) << "the gap between two rows";
    return aclnnGroupedBiasAddGrad(memory + workspace, bytes, executor, stream);
  };
  for (const std::ptrdiff_t inside : {1, 14, 60, 65})
    expect(161002, run_with(inside), {"workspace overlaps out"});
  expect(0, run_with(16));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(memory[64 + 14], 1.0f);
  for (aclTensor* tensor : t) expect(0, aclDestroyTensor(tensor));
}

TEST_F(Phase2Test, NullDataOfEachTensor) {
  const char* const names[] = {"grad", "varRef", "mRef", "vRef", "sRef", "step"};
  for (size_t k = 0; k < 6; ++k) {
    Counter counter;
    aclOpExecutor* executor = counter.planned(0, /*bias_correction=*/true);
    expect(0, aclSetTensorAddr(executor, k, counter.tensor(k), nullptr));
    expect(161001, run(executor), {"aclnnApplyFusedEmaAdam: ", names[k], "NULL data address"});
  }
  // Without bias correction step is never read, so its address does not matter.
  for (void* address : {static_cast<void*>(nullptr), reinterpret_cast<void*>(3)}) {
    Counter counter;
    aclOpExecutor* executor = counter.planned();
    expect(0, aclSetTensorAddr(executor, 5, counter.tensor(5), address));
    expect(0, run(executor));
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(counter.value(), 1.0f);
  }
}

TEST_F(Phase2Test, NullDataOfEmptyTensors) {
  Counter counter(0);
  aclOpExecutor* executor = counter.planned(0, true);
  for (size_t k = 0; k < 6; ++k) expect(0, aclSetTensorAddr(executor, k, counter.tensor(k), nullptr));
  expect(0, run(executor));
}

TEST_F(Phase2Test, MisalignedData) {
  for (size_t k = 0; k < 6; ++k) {
    Counter counter(4);
    const uintptr_t size = k == 5 ? 8 : 4;
    void* original = nullptr;
    expect(0, aclGetRawTensorAddr(counter.tensor(k), &original));
    for (uintptr_t off : {uintptr_t{1}, uintptr_t{2}, size - 1}) {
      aclOpExecutor* executor = counter.planned(0, true);
      expect(0, aclSetTensorAddr(executor, k, counter.tensor(k), static_cast<char*>(original) + off));
      expect(161002, run(executor), {"not a multiple of " + std::to_string(size) + " bytes"});
      expect(0, aclSetRawTensorAddr(counter.tensor(k), original));
    }
  }
}

TEST_F(Phase2Test, ProvableOverlaps) {
  struct Case {
    std::vector<std::ptrdiff_t> at;  // grad, var, m, v, s
    const char* says;                // nullptr: accepted
  };
  for (const Case& c : {Case{{0, 100, 200, 300, 400}, nullptr},
                        {{0, 50, 100, 150, 200}, nullptr},     // adjacent
                        {{100, 100, 200, 300, 400}, nullptr},  // grad may be the identical view of one ref
                        {{400, 100, 200, 300, 400}, nullptr},
                        {{101, 100, 200, 300, 400}, "varRef overlaps grad"},
                        {{51, 100, 200, 300, 400}, "varRef overlaps grad"},
                        {{149, 100, 200, 300, 400}, "varRef overlaps grad"},
                        {{0, 100, 100, 300, 400}, "varRef overlaps mRef"},
                        {{0, 100, 200, 149, 400}, "varRef overlaps vRef"},
                        {{0, 100, 200, 300, 349}, "vRef overlaps sRef"},
                        {{0, 100, 200, 300, 251}, "vRef overlaps sRef"}}) {
    aclOpExecutor* executor = planned_at(c.at, 50);
    if (c.says == nullptr) {
      expect(0, run(executor));
    } else {
      expect(161002, run(executor), {c.says});
    }
    expect(0, aclrtSynchronizeStream(stream));
  }
}

TEST_F(Phase2Test, GradIsReadBeforeItIsWritten) {
  for (float& value : memory) value = 1;
  aclOpExecutor* executor = planned_at({100, 100, 200, 300, 400}, 50);
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  for (int k = 100; k < 150; ++k) EXPECT_EQ(memory[k], 2.0f);
  EXPECT_EQ(memory[99], 1.0f);
  EXPECT_EQ(memory[150], 1.0f);
}

TEST_F(Phase2Test, StepCountsAsItsEightBytes) {
  step_address = memory + 100;
  expect(161002, run(planned_at({0, 99, 200, 300, 400}, 50, true)), {"varRef overlaps step"});
  expect(161002, run(planned_at({0, 101, 200, 300, 400}, 50, true)), {"varRef overlaps step"});
  expect(0, run(planned_at({0, 102, 200, 300, 400}, 50, true)));   // adjacent
  expect(0, run(planned_at({50, 150, 200, 300, 400}, 50, true)));  // grad is only read
  expect(0, run(planned_at({0, 99, 200, 300, 400}, 50, false)));   // not read
  expect(0, aclrtSynchronizeStream(stream));
}

TEST_F(Phase2Test, OverlapsThatAreNotProvableAreAccepted) {
  // Two interleaved halves of one buffer: neither view is dense.
  const int64_t dims[] = {50}, strides[] = {2};
  std::vector<aclTensor*> t;
  for (std::ptrdiff_t at : {0, 100, 101, 300, 301}) {
    t.push_back(aclCreateTensor(dims, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 1, memory + at));
  }
  t.push_back(make_tensor({1}, ACL_INT64, &step));
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  expect(0, aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], -1, 0, 0, 0, 0, 1,
                                                   false, 0, &bytes, &executor));
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  for (aclTensor* tensor : t) expect(0, aclDestroyTensor(tensor));
}

}  // namespace
