// Tests two devices in a process: a lost one leaves the other working, and the program's current device stays.
#include <unistd.h>

#include <map>
#include <string>

#include "cuda/native_stream.h"
#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "support/subprocess.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

const auto kIsLost = {std::string_view("device 1 is lost")};

// Two devices, of which the second is lost while the first works. Each test needs its own process.
class TwoDevices : public testing::Test {
 protected:
  void SetUp() override {
    alarm(100);  // a hang ends the process
    expect(0, aclInit(nullptr));
    expect(0, aclrtSetDevice(1));
    expect(0, aclrtCreateStream(&on_lost));
    expect(0, aclrtCreateEvent(&event));
    expect(0, aclrtMalloc(&of_lost, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
    expect(0, aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  void TearDown() override { expect(0, aclFinalize()); }

  // Enqueues a task whose kernel loses the second device.
  void lose(aclrtStream on_second, const char* speed = "") {
    fake((std::string("devices=2 sticky=1 ") + speed).c_str());
    expect(0, aclrtSetDevice(1));
    expect(0, aclrtRecordEvent(event, on_second));
    expect(0, counter.add(on_second));
    expect(0, aclrtSetDevice(0));
  }
  void expect_a_working_device() {
    Counter other;
    expect(0, other.add(stream));
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(other.value(), 1.0f);
  }

  aclrtStream stream = nullptr, on_lost = nullptr;
  aclrtEvent event = nullptr;
  void *memory = nullptr, *of_lost = nullptr;
  Counter counter;
};

class LostOtherInProcess : public TwoDevices {};
PROCESS_TEST_F(LostOtherInProcess, FreesMemoryOfOthers) {
  lose(on_lost, "slow=20000");
  void* more = nullptr;
  expect(0, aclrtMalloc(&more, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(more));  // also waits for the other device's task
  expect(0, aclrtSetDevice(1));
  expect(507899, aclrtSynchronizeStream(on_lost), kIsLost);
  for (int k = 0; k < 2; ++k) expect(507899, aclrtFree(of_lost), kIsLost);
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtMalloc(&more, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(more));
  expect(0, aclrtFree(memory));
  expect(107000, aclrtFree(memory), {"not the start of a live block"});
  expect(0, aclrtSynchronizeStream(stream));
}

// A copy from memory of the program looks for tasks of all devices that still write it.
class LostBeforeCopyInProcess : public TwoDevices {};
PROCESS_TEST_F(LostBeforeCopyInProcess, CopiesOnOthers) {
  lose(on_lost);
  expect(507899, aclrtSynchronizeStream(on_lost), kIsLost);
  char buffer[8] = {};
  expect(0, aclrtMemcpyAsync(memory, 8, buffer, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  expect_a_working_device();
}

class LostBeforeWaitInProcess : public TwoDevices {};
PROCESS_TEST_F(LostBeforeWaitInProcess, RefusesWaitsOfOthers) {
  lose(on_lost);
  expect(507899, aclrtSynchronizeStream(on_lost), kIsLost);
  expect(507899, aclrtStreamWaitEvent(stream, event), kIsLost);
  expect_a_working_device();
}

// The program itself waits for its stream, so the library does not know that the device is lost.
class LostUnnoticedInProcess : public TwoDevices {};
PROCESS_TEST_F(LostUnnoticedInProcess, RefusesWaitsOfOthers) {
  cudaStream_t native = nullptr;
  aclrtStream wrapped = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaSetDevice)(1), cudaSuccess);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&native, cudaStreamNonBlocking), cudaSuccess);
  expect(0, aclrtSetDevice(1));
  expect(0, openaclnnCreateStreamFromNative(native, &wrapped));
  lose(wrapped);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamSynchronize)(native), cudaErrorIllegalAddress);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaSetDevice)(0), cudaSuccess);
  expect(507899, aclrtStreamWaitEvent(stream, event), kIsLost);
  expect_a_working_device();
}

// An allocation without free memory waits for blocks that tasks of all devices may use.
class LostDuringAllocationInProcess : public TwoDevices {};
PROCESS_TEST_F(LostDuringAllocationInProcess, AllocatesOnOthers) {
  lose(on_lost, "slow=20000");
  expect(0, aclrtFree(memory));
  void* large = nullptr;
  size_t free_bytes = 0, total_bytes = 0;
  expect(0, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  expect(207001, aclrtMalloc(&large, total_bytes + 1, ACL_MEM_MALLOC_HUGE_FIRST), {"on device 0"});
  expect_a_working_device();
}

// The second device may lack memory for a context.
class FullOtherInProcess : public TwoDevices {};
PROCESS_TEST_F(FullOtherInProcess, LeavesTheProgramsDevice) {
  int device = -1;
  expect(0, aclrtSetDevice(1));
  fake("devices=2 fail=cudaSetDevice:1:2");
  expect(361001, counter.add(on_lost), {"EL0004 Failed to allocate memory on device 1", "out of memory"});
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGetDevice)(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
  expect(0, counter.add(on_lost));
  expect(0, aclrtSynchronizeStream(on_lost));
}

TEST(TwoDevices, DoNotDisturbEachOther) {
  for (const char* suite : {"FullOther", "LostOther", "LostBeforeCopy", "LostBeforeWait", "LostUnnoticed",
                            "LostDuringAllocation"}) {
    openaclnn_test::expect_suite_passes(suite, {{"OPENACLNN_DEVICE", "cuda"},
                                                {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                                                {"OPENACLNN_FAKE_CUDA", "devices=2"}});
  }
}

}  // namespace
