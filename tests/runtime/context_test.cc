// Tests initialisation, devices and contexts: counting, and which calls end them.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment three_devices("OPENACLNN_CPU_DEVICES", "3");

class ContextTest : public testing::Test {
 protected:
  void SetUp() override { (void)aclGetRecentErrMsg(); }
  void TearDown() override {
    for (int32_t device = 0; device < 3; ++device) expect(0, aclrtResetDeviceForce(device));
    while (aclFinalize() == 0) {
    }
    (void)aclGetRecentErrMsg();
  }
  static void expect_no_context() {
    int32_t device = 77;
    expect(107002, aclrtGetDevice(&device), {"context"});
    EXPECT_EQ(device, 77);
  }
  static void expect_device(int32_t expected) {
    int32_t device = -1;
    expect(0, aclrtGetDevice(&device));
    EXPECT_EQ(device, expected);
  }
  static aclrtContext current() {
    aclrtContext context = nullptr;
    expect(0, aclrtGetCurrentContext(&context));
    return context;
  }
};

TEST_F(ContextTest, ThreadsStartWithoutContext) {
  expect(0, aclrtSetDevice(0));
  std::thread([] {
    expect_no_context();
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    expect(107002, aclrtGetCurrentContext(&context));
    expect(107002, aclrtCtxGetCurrentDefaultStream(&stream));
    expect(107002, aclrtCreateStream(&stream));
    expect(107002, aclrtCreateStreamWithConfig(&stream, 0, 0));
    expect(107002, aclrtCreateEvent(&event));
    expect(107002, aclrtSynchronizeStream(nullptr));
    expect(107002, aclrtSynchronizeDevice());
    expect(107002, aclrtSynchronizeDeviceWithTimeout(5));
    int64_t value = 0;
    expect(107002, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    expect(107002, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  }).join();
}

TEST_F(ContextTest, DevicesAndTheirQuestions) {
  uint32_t count = 0;
  aclrtRunMode mode = ACL_DEVICE;
  int32_t numbers[3] = {};
  expect(0, aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 3u);
  expect(0, aclrtGetRunMode(&mode));
  EXPECT_EQ(mode, ACL_HOST);
  expect(0, aclrtGetVersion(&numbers[0], &numbers[1], &numbers[2]));
  EXPECT_EQ(numbers[0], 1);
  EXPECT_EQ(numbers[1], 17);
  EXPECT_EQ(numbers[2], 0);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B1");
  int32_t can = 0;
  expect(0, aclrtDeviceCanAccessPeer(&can, 0, 2));
  EXPECT_EQ(can, 1);
  expect(107001, aclrtDeviceCanAccessPeer(&can, 0, 3), {"deviceId is 3"});
  expect(107001, aclrtDeviceCanAccessPeer(&can, -1, 0), {"deviceId is -1"});
  expect(0, aclrtDeviceEnablePeerAccess(2, 0));
  expect(107001, aclrtDeviceEnablePeerAccess(3, 0));
  for (int code : {aclrtGetDeviceCount(nullptr), aclrtGetRunMode(nullptr), aclrtGetDevice(nullptr),
                   aclrtGetVersion(nullptr, numbers, numbers), aclrtGetVersion(numbers, nullptr, numbers),
                   aclrtGetVersion(numbers, numbers, nullptr), aclrtDeviceCanAccessPeer(nullptr, 0, 0),
                   aclrtCreateContext(nullptr, 0), aclrtGetCurrentContext(nullptr),
                   aclrtCtxGetCurrentDefaultStream(nullptr), aclrtCreateStream(nullptr),
                   aclrtCreateEvent(nullptr), aclFinalizeReference(nullptr)}) {
    EXPECT_EQ(code, 100000);
  }
  EXPECT_NE(aclGetRecentErrMsg(), nullptr);
}

TEST_F(ContextTest, BadDeviceIds) {
  aclrtContext context = nullptr;
  for (int32_t device : {-1, 3, INT32_MAX, INT32_MIN}) {
    const std::string says = "deviceId is " + std::to_string(device);
    expect(107001, aclrtSetDevice(device), {says, "[0, 3)"});
    expect(107001, aclrtResetDevice(device), {says});
    expect(107001, aclrtResetDeviceForce(device), {says});
    expect(107001, aclrtCreateContext(&context, device), {says});
  }
  EXPECT_EQ(context, nullptr);
  expect_no_context();
}

TEST_F(ContextTest, SetDeviceIsCountedPerProcess) {
  expect(0, aclrtSetDevice(1));
  expect(0, aclrtSetDevice(1));
  const aclrtContext context = current();
  std::thread([&] {
    expect(0, aclrtSetDevice(1));
    EXPECT_EQ(current(), context);
  }).join();
  expect(0, aclrtResetDevice(1));
  expect(0, aclrtResetDevice(1));
  expect_device(1);
  expect(0, aclrtResetDevice(1));  // the third
  expect_no_context();
  expect(107017, aclrtSetCurrentContext(context), {"context"});
  expect(0, aclrtResetDevice(1));  // nothing left to release
  expect(0, aclrtSetDevice(1));
  EXPECT_NE(current(), context);
  expect(0, aclrtResetDevice(1));
  expect_no_context();
}

TEST_F(ContextTest, ResetDrainsAndEndsTheStreams) {
  for (auto* reset : {aclrtResetDevice, aclrtResetDeviceForce}) {
    expect(0, aclrtSetDevice(0));
    if (reset == aclrtResetDeviceForce) expect(0, aclrtSetDevice(0));  // force ignores the count
    aclrtStream stream = nullptr, default_stream = nullptr;
    aclrtEvent event = nullptr;
    expect(0, aclrtCreateStream(&stream));
    expect(0, aclrtCreateEvent(&event));
    expect(0, aclrtCtxGetCurrentDefaultStream(&default_stream));
    Counter on_stream, on_default;
    for (int k = 0; k < 100; ++k) {
      expect(0, on_stream.add(stream));
      expect(0, on_default.add(default_stream));
    }
    expect(0, aclrtRecordEvent(event, stream));
    expect(0, reset(0));
    EXPECT_EQ(on_stream.value(), 100.0f);
    EXPECT_EQ(on_default.value(), 100.0f);
    expect(0, aclrtSetDevice(0));
    expect(107017, aclrtSynchronizeStream(stream));
    expect(107017, aclrtSynchronizeStream(default_stream));
    expect(107017, aclrtDestroyStream(stream));
    expect(0, aclrtSynchronizeEvent(event));  // events belong to no device
    expect(0, aclrtDestroyEvent(event));
    expect(0, aclrtResetDevice(0));
  }
}

TEST_F(ContextTest, SetDeviceSwitches) {
  for (int32_t device : {2, 0, 1, 2}) {
    expect(0, aclrtSetDevice(device));
    expect_device(device);
  }
}

TEST_F(ContextTest, OwnContexts) {
  aclrtContext first = nullptr, second = nullptr;
  expect(0, aclrtCreateContext(&first, 1));
  EXPECT_EQ(current(), first);
  expect_device(1);
  aclrtStream default_of_first = nullptr, stream = nullptr, default_of_second = nullptr;
  expect(0, aclrtCtxGetCurrentDefaultStream(&default_of_first));
  expect(0, aclrtCreateStream(&stream));
  expect(0, aclrtCreateContext(&second, 1));
  EXPECT_EQ(current(), second);
  expect(0, aclrtCtxGetCurrentDefaultStream(&default_of_second));
  EXPECT_NE(default_of_first, default_of_second);
  std::thread([&] {
    expect(0, aclrtSetCurrentContext(first));
    expect_device(1);
    Counter on_default, on_stream;
    expect(0, on_default.add(nullptr));
    expect(0, on_stream.add(stream));
    expect(0, aclrtDestroyContext(first));  // drains
    EXPECT_EQ(on_default.value(), 1.0f);
    EXPECT_EQ(on_stream.value(), 1.0f);
    expect(107002, aclrtSynchronizeStream(nullptr), {"was destroyed"});
    expect_no_context();
  }).join();
  expect(107017, aclrtSynchronizeStream(stream));
  expect(107017, aclrtSynchronizeStream(default_of_first));
  expect(107017, aclrtSetCurrentContext(first));
  EXPECT_EQ(current(), second);
  expect(0, aclrtDestroyContext(second));
  expect_no_context();
}

TEST_F(ContextTest, DestroyingAContextReachesEveryThread) {
  aclrtContext context = nullptr;
  expect(0, aclrtCreateContext(&context, 0));
  Gate turn;  // used as a signal between the threads
  std::thread other([&] {
    expect(0, aclrtSetCurrentContext(context));
    expect(0, turn.enqueue(nullptr));
    // The main thread destroys the context at some moment after the gate was reached.
    while (aclrtSynchronizeStream(nullptr) == 0) {
    }
    (void)aclGetRecentErrMsg();
    expect_no_context();
  });
  turn.wait_until_reached();
  turn.open();
  expect(0, aclrtSynchronizeStream(nullptr));
  expect(0, aclrtDestroyContext(context));
  other.join();
}

TEST_F(ContextTest, EndingAContextWaitsForAStreamThatAnotherThreadDestroys) {
  aclrtContext context = nullptr;
  aclrtStream of_context = nullptr;
  aclrtEvent event = nullptr;
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtCreateEvent(&event));
  Gate gate;
  std::thread destroyer;
  std::atomic<bool> ended{false};
  std::thread([&] {
    expect(0, aclrtCreateContext(&context, 0));
    expect(0, aclrtCreateStream(&of_context));
    expect(0, gate.enqueue(of_context));
    gate.wait_until_reached();
    destroyer = std::thread([&] { expect(0, aclrtDestroyStream(of_context)); });
    while (aclrtRecordEvent(event, of_context) == 0) std::this_thread::yield();  // until it is closed
    (void)aclGetRecentErrMsg();
  }).join();
  std::thread ender([&] {
    expect(0, aclrtDestroyContext(context));
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // in case it does not wait
  EXPECT_FALSE(ended);
  gate.open();
  ender.join();
  destroyer.join();
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(ContextTest, ADefaultContextDestroyedByHandIsMadeAgain) {
  expect(0, aclrtSetDevice(0));
  const aclrtContext context = current();
  expect(0, aclrtDestroyContext(context));
  expect_no_context();
  expect(107017, aclrtDestroyContext(context));
  expect(0, aclrtSetDevice(0));
  EXPECT_NE(current(), context);
  Counter counter;
  expect(0, counter.add(nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(ContextTest, SynchronizeDeviceCoversAllContexts) {
  aclrtContext context = nullptr;
  expect(0, aclrtCreateContext(&context, 2));
  Counter counter;
  for (int k = 0; k < 100; ++k) expect(0, counter.add(nullptr));
  expect(0, aclrtSetDevice(2));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(counter.value(), 100.0f);
  expect(0, aclrtDestroyContext(context));
}

TEST_F(ContextTest, InitCountsAndFinalizeEndsAll) {
  expect(100037, aclFinalize(), {"aclInit was not called"});
  uint64_t left = 77;
  expect(100037, aclFinalizeReference(&left));
  EXPECT_EQ(left, 77u);
  expect(0, aclInit(nullptr));
  expect(100002, aclInit(nullptr), {"already initialised"});
  expect(100002, aclInit(nullptr));
  expect(0, aclFinalizeReference(&left));
  EXPECT_EQ(left, 2u);
  expect(0, aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  expect(0, aclrtCreateStream(&stream));
  expect(0, aclrtCreateEvent(&event));
  Counter counter;
  for (int k = 0; k < 50; ++k) expect(0, counter.add(stream));
  const aclrtContext context = current();
  expect(0, aclFinalize());  // drops the remaining two
  EXPECT_EQ(counter.value(), 50.0f);
  expect_no_context();
  expect(100037, aclFinalize());
  expect(107017, aclrtSetCurrentContext(context));
  expect(0, aclrtSetDevice(0));
  expect(107017, aclrtSynchronizeStream(stream));
  expect(107017, aclrtDestroyEvent(event));
  expect(0, counter.add(nullptr));  // everything works again
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(counter.value(), 51.0f);
  expect(0, aclInit(nullptr));
  expect(0, aclFinalizeReference(&left));
  EXPECT_EQ(left, 0u);
  expect_no_context();
}

TEST_F(ContextTest, LastErrors) {
  expect(0, aclrtSetDevice(0));
  (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
  expect(107001, aclrtSetDevice(99));
  expect(107000, aclrtFree(this));
  expect(0, aclrtSetDevice(0));
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107000);
  std::thread([] { EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0); }).join();
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107000);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
  expect(100000, aclrtGetLastError(static_cast<aclrtLastErrLevel>(1)), {"level is 1"});
  expect(100000, aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(-1)), {"level is -1"});
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 100000);
}

}  // namespace
