// Tests lifetimes across the two phases: arguments that are destroyed early, and phases on different
// threads.
#include <memory>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "runtime/gate.h"
#include "runtime/runtime_test.h"

// Functions that callers look up by name around each operator call.
extern "C" {
int InitHugeMemThreadLocal(void* argument, bool sync);
void UnInitHugeMemThreadLocal(void* argument, bool sync);
void ReleaseHugeMem(void* argument, bool sync);
}

namespace {

using namespace runtime_test;
using LifetimeTest = RuntimeTest;

// Five buffers and a step that outlive all descriptors; each call makes and destroys descriptors.
struct Buffers {
  explicit Buffers(int64_t element_count) : count(element_count) {
    for (std::vector<float>& values : data) values.assign(static_cast<size_t>(count), 0.0f);
    data[0].assign(static_cast<size_t>(count), 1.0f);
  }
  std::vector<aclTensor*> describe() {
    std::vector<aclTensor*> tensors;
    // One description for all, whose arrays are destroyed when it returns.
    for (std::vector<float>& values : data) {
      const auto dims = std::make_unique<int64_t[]>(2);
      const auto strides = std::make_unique<int64_t[]>(2);
      dims[0] = 2;
      dims[1] = strides[0] = count / 2;
      strides[1] = 1;
      tensors.push_back(aclCreateTensor(dims.get(), 2, ACL_FLOAT, strides.get(), 0, ACL_FORMAT_ND, &count, 1,
                                        values.data()));
    }
    tensors.push_back(make_tensor({1}, ACL_INT64, &step));
    return tensors;
  }
  static aclOpExecutor* plan(const std::vector<aclTensor*>& t) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    expect(0, aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], -1, 0, 0, 0, 0, 1,
                                                     true, 0, &bytes, &executor));
    return executor;
  }
  static void destroy(const std::vector<aclTensor*>& tensors) {
    for (aclTensor* tensor : tensors) expect(0, aclDestroyTensor(tensor));
  }
  bool all_equal(float expected) const {
    for (float value : data[1]) {
      if (value != expected) return false;
    }
    return true;
  }

  int64_t count;
  std::vector<float> data[5];
  int64_t step = 1;
};

TEST_F(LifetimeTest, ArgumentsMayGoBetweenThePhases) {
  Buffers buffers(10000);
  const std::vector<aclTensor*> tensors = buffers.describe();
  aclOpExecutor* executor = Buffers::plan(tensors);
  Buffers::destroy(tensors);
  for (aclTensor* newer : buffers.describe())
    expect(0, aclSetRawTensorAddr(newer, nullptr));  // reuses the slots
  expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(buffers.all_equal(1));
}

TEST_F(LifetimeTest, ArgumentsMayGoRightAfterPhase2) {
  Buffers buffers(10000);
  Gate gate;
  expect(0, gate.enqueue(stream));
  for (int k = 0; k < 20; ++k) {
    const std::vector<aclTensor*> tensors = buffers.describe();
    aclOpExecutor* executor = Buffers::plan(tensors);
    expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
    Buffers::destroy(tensors);
  }
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(buffers.all_equal(20));
}

TEST_F(LifetimeTest, ArgumentsMayBeReusedForOtherThings) {
  Buffers buffers(64);
  const std::vector<aclTensor*> tensors = buffers.describe();
  aclOpExecutor* executor = Buffers::plan(tensors);
  const int64_t dims[] = {1};
  for (aclTensor* tensor : tensors) {
    expect(0, aclInitTensor(tensor, dims, 1, ACL_INT8, nullptr, 5, ACL_FORMAT_NCHW, dims, 1, nullptr));
  }
  expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(buffers.all_equal(1));
  Buffers::destroy(tensors);
}

// The order of calls in language bindings, with each step on its own thread.
TEST_F(LifetimeTest, PhasesOnDifferentThreads) {
  Buffers buffers(1000);
  for (int k = 1; k <= 20; ++k) {
    std::vector<aclTensor*> tensors;
    aclOpExecutor* executor = nullptr;
    std::thread([&] {
      EXPECT_EQ(InitHugeMemThreadLocal(nullptr, false), 0);
      tensors = buffers.describe();
      executor = Buffers::plan(tensors);
    }).join();
    std::thread([&] {
      expect(0, aclrtSetDevice(0));
      expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
    }).join();
    std::thread([&] {
      Buffers::destroy(tensors);
      ReleaseHugeMem(nullptr, false);
      UnInitHugeMemThreadLocal(nullptr, false);
    }).join();
    expect(0, aclrtResetDevice(0));  // what the second thread took
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_TRUE(buffers.all_equal(static_cast<float>(k)));
  }
}

TEST_F(LifetimeTest, ThreadsMayEndBeforeTheirWork) {
  Buffers buffers(1000);
  Gate gate;
  expect(0, gate.enqueue(stream));
  for (int k = 0; k < 20; ++k) {
    std::thread([&] {
      expect(0, aclrtSetDevice(0));
      const std::vector<aclTensor*> tensors = buffers.describe();
      expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, Buffers::plan(tensors), stream));
      Buffers::destroy(tensors);
    }).join();
    expect(0, aclrtResetDevice(0));
  }
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(buffers.all_equal(20));
}

TEST_F(LifetimeTest, ExecutorsThatNeverRunStayCheap) {
  Buffers buffers(2);
  const std::vector<aclTensor*> tensors = buffers.describe();
  constexpr int kExecutors = 20000;
  std::vector<aclOpExecutor*> executors;
  for (int k = 0; k < kExecutors; ++k) executors.push_back(Buffers::plan(tensors));
  for (int k = 0; k < kExecutors; k += 1000)
    expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executors[static_cast<size_t>(k)], stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(buffers.all_equal(kExecutors / 1000));
  expect(0, aclInit(nullptr));
  expect(0, aclFinalize());  // releases them, which leak checkers verify
  stream = nullptr;
  expect(561000, aclDestroyAclOpExecutor(executors[1]));
  Buffers::destroy(tensors);
}

}  // namespace
