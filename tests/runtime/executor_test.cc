// Tests the life cycle of executors: every row of the table of states, repeatable executors, and address
// updates.
#include <thread>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

class ExecutorTest : public RuntimeTest {
 protected:
  // All calls that a dead executor rejects.
  void expect_dead(aclOpExecutor* executor) {
    expect(561000, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream),
           {"aclnnApplyFusedEmaAdam: executor is not live"});
    expect(561000, aclSetAclOpExecutorRepeatable(executor), {"executor is not live"});
    expect(561000, aclDestroyAclOpExecutor(executor), {"executor is not live"});
    expect(561000, aclSetTensorAddr(executor, 0, counter.tensor(0), nullptr), {"executor is not live"});
    expect(561000, aclSetInputTensorAddr(executor, 0, counter.tensor(0), nullptr));
    expect(561000, aclSetOutputTensorAddr(executor, 0, counter.tensor(0), nullptr));
    void* address = nullptr;
    expect(0, aclGetRawTensorAddr(counter.tensor(0), &address));
    EXPECT_EQ(address, counter.grad()) << "a refused update changed the tensor";
  }
  int run(aclOpExecutor* executor) { return aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream); }

  Counter counter;
};

TEST_F(ExecutorTest, OneShotRunsOnce) {
  aclOpExecutor* executor = counter.planned();
  expect(0, run(executor));
  expect_dead(executor);
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(ExecutorTest, DestroyedBeforeItRan) {
  aclOpExecutor* executor = counter.planned();
  expect(0, aclDestroyAclOpExecutor(executor));
  expect_dead(executor);
}

TEST_F(ExecutorTest, RepeatableRunsAnyNumberOfTimes) {
  aclOpExecutor* executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  for (int k = 0; k < 100; ++k) expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 100.0f);
  expect(0, aclDestroyAclOpExecutor(executor));
  expect_dead(executor);
}

TEST_F(ExecutorTest, QueuedTasksOutliveTheirExecutor) {
  aclOpExecutor* executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, run(executor));
  expect(0, run(executor));
  expect(0, aclDestroyAclOpExecutor(executor));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 2.0f);
}

TEST_F(ExecutorTest, NullIsRefused) {
  expect(161001, run(nullptr), {"aclnnApplyFusedEmaAdam: executor is NULL"});
  expect(561103, aclSetAclOpExecutorRepeatable(nullptr), {"executor is NULL"});
  expect(561103, aclDestroyAclOpExecutor(nullptr), {"executor is NULL"});
  for (auto* set : {aclSetTensorAddr, aclSetInputTensorAddr, aclSetOutputTensorAddr, AclSetTensorAddr,
                    AclSetInputTensorAddr, AclSetOutputTensorAddr}) {
    expect(561103, set(nullptr, 0, counter.tensor(0), nullptr), {"TensorAddr: executor is NULL"});
  }
}

// A phase 2 that finds its executor live consumes it even when it fails, but leaves a repeatable one alive.
TEST_F(ExecutorTest, FailingPhase2ConsumesOneShots) {
  Counter other;
  aclOpExecutor* executor = nullptr;
  const auto plan_bad = [&](auto&& spoil) {
    executor = counter.planned();
    spoil(executor);
  };
  const auto nothing = [](aclOpExecutor*) {};

  plan_bad(nothing);
  expect(161002, aclnnEmbedding(nullptr, 0, executor, stream),
         {"aclnnEmbedding: executor was created by aclnnApplyFusedEmaAdamGetWorkspaceSize"});
  expect_dead(executor);

  plan_bad(nothing);
  std::thread([&] { expect(107002, run(executor), {"context"}); }).join();
  expect_dead(executor);

  plan_bad(nothing);
  expect(107017, aclnnApplyFusedEmaAdam(nullptr, 0, executor, counter.grad()),
         {"stream is not a live stream"});
  expect_dead(executor);

  plan_bad([&](aclOpExecutor* e) { expect(0, aclSetTensorAddr(e, 1, other.tensor(1), nullptr)); });
  expect(161001, run(executor), {"varRef has a NULL data address"});
  expect_dead(executor);

  plan_bad([&](aclOpExecutor* e) {
    expect(0, aclSetTensorAddr(e, 1, other.tensor(1), reinterpret_cast<char*>(other.var()) + 1));
  });
  expect(161002, run(executor), {"varRef", "not a multiple of 4 bytes"});
  expect_dead(executor);

  plan_bad([&](aclOpExecutor* e) { expect(0, aclSetTensorAddr(e, 2, other.tensor(1), counter.var())); });
  expect(161002, run(executor), {"varRef overlaps mRef"});
  expect_dead(executor);

  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 0.0f);
}

TEST_F(ExecutorTest, FailingPhase2KeepsRepeatables) {
  aclOpExecutor* executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  expect(161002, aclnnEmbedding(nullptr, 0, executor, stream));
  std::thread([&] { expect(107002, run(executor)); }).join();
  expect(107017, aclnnApplyFusedEmaAdam(nullptr, 0, executor, counter.grad()));
  expect(0, aclSetTensorAddr(executor, 1, counter.tensor(1), nullptr));
  expect(161001, run(executor));
  expect(0, aclSetTensorAddr(executor, 1, counter.tensor(1), counter.var()));
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclDestroyAclOpExecutor(executor));
}

// Callers destroy at exit executors that phase 2 consumed long ago; by then other objects use the slots.
TEST_F(ExecutorTest, StaleDestroyNeverTouchesANewerExecutor) {
  std::vector<aclOpExecutor*> consumed;
  for (int k = 0; k < 100; ++k) {
    consumed.push_back(counter.planned());
    expect(0, run(consumed.back()));
  }
  std::vector<aclOpExecutor*> newer;
  for (int k = 0; k < 100; ++k) newer.push_back(counter.planned());
  for (aclOpExecutor* executor : consumed) expect(561000, aclDestroyAclOpExecutor(executor));
  for (aclOpExecutor* executor : newer) expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 200.0f);
}

TEST_F(ExecutorTest, FailingPhase1LeavesItsOutputsUntouched) {
  uint64_t bytes = 77;
  auto* executor = reinterpret_cast<aclOpExecutor*>(0x55);
  const auto& t = [&](size_t k) { return counter.tensor(k); };
  expect(161002,
         aclnnApplyFusedEmaAdamGetWorkspaceSize(t(0), t(1), t(2), t(3), t(4), t(5), 0, 0, 0, 0, 0, /*mode=*/2,
                                                false, 0, &bytes, &executor),
         {"mode is 2"});
  expect(161001,
         aclnnApplyFusedEmaAdamGetWorkspaceSize(t(0), t(1), t(2), t(3), t(4), t(5), 0, 0, 0, 0, 0, 1, false,
                                                0, nullptr, &executor),
         {"workspaceSize is NULL"});
  expect(161001,
         aclnnApplyFusedEmaAdamGetWorkspaceSize(t(0), t(1), t(2), t(3), t(4), t(5), 0, 0, 0, 0, 0, 1, false,
                                                0, &bytes, nullptr),
         {"executor is NULL"});
  EXPECT_EQ(bytes, 77u);
  EXPECT_EQ(executor, reinterpret_cast<aclOpExecutor*>(0x55));
}

TEST_F(ExecutorTest, Phase1NeedsNeitherDeviceNorContext) {
  aclOpExecutor* executor = nullptr;
  std::thread([&] { executor = counter.planned(); }).join();
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
}

// ---- address updates ----

struct AddressTest : ExecutorTest {
  using SetAddress = aclnnStatus (*)(aclOpExecutor*, const size_t, aclTensor*, void*);

  void SetUp() override {
    ExecutorTest::SetUp();
    executor = counter.planned();
    expect(0, aclSetAclOpExecutorRepeatable(executor));
  }
  void TearDown() override {
    expect(0, aclDestroyAclOpExecutor(executor));
    ExecutorTest::TearDown();
  }
  // Sets parameter `index` to `other`'s buffer, runs, and returns whether that run used it as var.
  void expect_var_at(SetAddress set, size_t index) {
    expect(0, set(executor, index, counter.tensor(1), other.var()));
    expect(0, run(executor));
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(other.value(), ++runs_on_other) << "index " << index;
    EXPECT_EQ(counter.value(), 0.0f);
    void* address = nullptr;
    expect(0, aclGetRawTensorAddr(counter.tensor(1), &address));
    EXPECT_EQ(address, other.var()) << "the tensor object follows";
    expect(0, set(executor, index, counter.tensor(1), counter.var()));
  }

  Counter other;
  aclOpExecutor* executor = nullptr;
  float runs_on_other = 0;
};

TEST_F(AddressTest, AReferenceIsReachedThroughEveryIndexSpace) {
  for (SetAddress set : {aclSetTensorAddr, AclSetTensorAddr}) {
    expect_var_at(set, 1);  // as input
    expect_var_at(set, 6);  // as output: the inputs are 0 to 5
  }
  for (SetAddress set : {aclSetInputTensorAddr, AclSetInputTensorAddr}) expect_var_at(set, 1);
  for (SetAddress set : {aclSetOutputTensorAddr, AclSetOutputTensorAddr}) expect_var_at(set, 0);
}

TEST_F(AddressTest, IndicesBeyondTheEndAreRefused) {
  struct Case {
    SetAddress set;
    size_t count;
  };
  for (const Case& c : {Case{aclSetTensorAddr, 10},
                        {AclSetTensorAddr, 10},
                        {aclSetInputTensorAddr, 6},
                        {AclSetInputTensorAddr, 6},
                        {aclSetOutputTensorAddr, 4},
                        {AclSetOutputTensorAddr, 4}}) {
    for (size_t index : {c.count, c.count + 1, SIZE_MAX}) {
      expect(161002, c.set(executor, index, counter.tensor(1), other.var()),
             {"index is " + std::to_string(index), "below " + std::to_string(c.count)});
    }
  }
  void* address = nullptr;
  expect(0, aclGetRawTensorAddr(counter.tensor(1), &address));
  EXPECT_EQ(address, counter.var());
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(AddressTest, TheTensorNeedNotBeTheOneOfPhase1) {
  aclTensor* unrelated = make_tensor({7, 7}, ACL_INT8, nullptr);
  expect(0, aclSetTensorAddr(executor, 1, unrelated, other.var()));
  void* address = nullptr;
  expect(0, aclGetRawTensorAddr(unrelated, &address));
  EXPECT_EQ(address, other.var());
  expect(0, aclGetRawTensorAddr(counter.tensor(1), &address));
  EXPECT_EQ(address, counter.var());
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(other.value(), 1.0f);
  expect(0, aclDestroyTensor(unrelated));
  expect(161002, aclSetTensorAddr(executor, 1, unrelated, counter.var()), {"tensor is not live"});
  expect(561103, aclSetTensorAddr(executor, 1, nullptr, counter.var()), {"tensor is NULL"});
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(other.value(), 2.0f) << "a refused update changed the executor";
}

TEST_F(AddressTest, ChangingTheTensorAloneDoesNotReachTheExecutor) {
  expect(0, aclSetRawTensorAddr(counter.tensor(1), other.var()));
  expect(0, run(executor));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  EXPECT_EQ(other.value(), 0.0f);
}

TEST_F(AddressTest, EachRunTakesASnapshot) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, run(executor));
  expect(0, aclSetTensorAddr(executor, 1, counter.tensor(1), other.var()));
  expect(0, run(executor));
  expect(0, run(executor));
  expect(0, aclSetTensorAddr(executor, 1, counter.tensor(1), nullptr));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  EXPECT_EQ(other.value(), 2.0f);
}

TEST_F(AddressTest, ListFunctionsHaveNothingToSet) {
  aclTensorList* list = aclCreateTensorList(nullptr, 0);
  for (auto* set : {aclSetDynamicTensorAddr, aclSetDynamicInputTensorAddr, aclSetDynamicOutputTensorAddr,
                    AclSetDynamicTensorAddr, AclSetDynamicInputTensorAddr, AclSetDynamicOutputTensorAddr}) {
    expect(561103, set(nullptr, 0, 0, list, nullptr), {"SetDynamic", "executor is NULL"});
    expect(561103, set(executor, 0, 0, nullptr, nullptr), {"tensors is NULL"});
    expect(561000, set(reinterpret_cast<aclOpExecutor*>(list), 0, 0, list, nullptr),
           {"executor is not live"});
    expect(161002, set(executor, 3, 0, list, nullptr), {"irIndex is 3", "no tensor-list parameter"});
  }
  expect(0, aclDestroyTensorList(list));
}

// ---- aclFinalize ----

TEST_F(ExecutorTest, FinalizeReleasesFreshOneShotsOnly) {
  expect(0, aclInit(nullptr));
  aclOpExecutor* fresh = counter.planned();
  aclOpExecutor* repeatable = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(repeatable));
  expect(0, aclFinalize());
  stream = nullptr;
  expect(561000, aclDestroyAclOpExecutor(fresh));
  aclTensor* still_alive = counter.tensor(0);
  aclDataType dtype = ACL_DT_UNDEFINED;
  expect(0, aclGetDataType(still_alive, &dtype));
  expect(0, aclrtSetDevice(0));
  expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, repeatable, nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclDestroyAclOpExecutor(repeatable));
}

}  // namespace
