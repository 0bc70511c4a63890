// Tests streams that the program created with CUDA, and CUDA graphs captured from them.
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "cuda/native_stream.h"
#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "runtime/lookup.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

class NativeStreams : public NativeStreamTest {
 protected:
  void native_wait() { EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamSynchronize)(native), cudaSuccess); }
};

TEST_F(NativeStreams, RunOperatorsInTheirOrder) {
  fake("slow=2000");
  Counter counter;
  expect(0, counter.add(wrapped, 1));
  expect(0, counter.add(wrapped, 1));
  native_wait();
  EXPECT_EQ(counter.value(), 3.0f);
  // The library also waits for work that the program itself put into the stream.
  static int called;
  called = 0;
  const auto note = [](void*) { ++called; };
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(native, note, nullptr), cudaSuccess);
  EXPECT_FALSE(is_idle(wrapped));
  expect(0, aclrtSynchronizeStream(wrapped));
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(is_idle(wrapped));
}

// CUDA reads pageable memory when the stream reaches the copy, and the call that requested the copy waits
// until then. A task writes `block` before it.
class CopyThatWaits : public NativeStreams {
 protected:
  static constexpr size_t kBytes = 1 << 20, kBlockBytes = 4096;

  void SetUp() override {
    NativeStreams::SetUp();
    if (kAddressSanitizer || kThreadSanitizer)
      GTEST_SKIP() << "sanitized builds give memory back to the driver at once, which waits for all work";
    gate = {};
    const auto wait_for_gate = [](void*) { gate.get_future().wait(); };
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(native, wait_for_gate, nullptr), cudaSuccess);
    expect(0, aclrtMalloc(&target, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    expect(0, aclrtMalloc(&block, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    expect(0, aclrtMemsetAsync(block, kBlockBytes, 1, kBlockBytes, wrapped));
    copying = std::thread([this] {
      const std::vector<char> pageable(kBytes, 'x');
      expect(0, aclrtSetDevice(0));
      expect(0,
             aclrtMemcpyAsync(target, kBytes, pageable.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, wrapped));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until the copy starts
  }
  void TearDown() override {
    if (copying.joinable()) {
      gate.set_value();
      copying.join();
      expect(0, aclrtSynchronizeStream(wrapped));
      expect(0, aclrtFree(target));
    }
    NativeStreams::TearDown();
  }
  // The future belongs to the caller: it must outlive the gate.
  static std::future<aclError> freeing(void* memory) {
    return std::async(std::launch::async, [memory] { return aclrtFree(memory); });
  }
  static bool returns(std::future<aclError>& call) {
    return call.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

  static inline std::promise<void> gate;
  void *target = nullptr, *block = nullptr;
  std::thread copying;
};

TEST_F(CopyThatWaits, HoldsUpNoFree) {
  static std::future<aclError> freed;
  freed = freeing(block);
  ASSERT_TRUE(returns(freed));
  expect(0, freed.get());
  void* next = nullptr;
  expect(0, aclrtMalloc(&next, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_NE(next, block) << "given out while a task still writes it";
  expect(0, aclrtFree(next));
}

// An allocation without free memory waits for blocks to be released; other threads need not wait.
TEST_F(CopyThatWaits, HoldsUpNoFreeBesideAnAllocation) {
  static std::future<aclError> freed, allocated;
  void *large = nullptr, *other = nullptr;
  size_t free_bytes = 0, total_bytes = 0;
  expect(0, aclrtMalloc(&other, kBlockBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(block));
  expect(0, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  allocated = std::async(std::launch::async, [&] {
    expect(0, aclrtSetDevice(0));
    return aclrtMalloc(&large, total_bytes + 1, ACL_MEM_MALLOC_HUGE_FIRST);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until the allocation waits
  freed = freeing(other);
  EXPECT_TRUE(returns(freed));
  gate.set_value();
  expect(0, freed.get());
  EXPECT_EQ(allocated.get(), 207001);
  gate = {};
}

TEST_F(NativeStreams, SurviveTheirHandle) {
  Counter counter;
  expect(0, counter.add(wrapped));
  expect(0, aclrtDestroyStream(wrapped));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(107017, aclrtSynchronizeStream(wrapped), {"not a live stream"});
  wrapped = nullptr;
  native_wait();
}

TEST_F(NativeStreams, TheDefaultStreamOfCudaIsOne) {
  aclrtStream of_default = nullptr;
  expect(0, openaclnnCreateStreamFromNative(nullptr, &of_default));
  Counter counter;
  expect(0, counter.add(of_default));
  expect(0, aclrtSynchronizeStream(of_default));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclrtDestroyStream(of_default));
  expect(0, openaclnnCreateStreamFromNative(cudaStreamLegacy, &of_default));
  expect(0, counter.add(of_default));
  expect(0, aclrtDestroyStream(of_default));
  EXPECT_EQ(counter.value(), 2.0f);
  expect(100000, openaclnnCreateStreamFromNative(native, nullptr), {"stream is NULL"});
}

// Each thread would name another stream with it.
TEST_F(NativeStreams, TheDefaultStreamOfEachThreadIsNone) {
  aclrtStream of_thread = nullptr;
  expect(207000, openaclnnCreateStreamFromNative(cudaStreamPerThread, &of_thread),
         {"nativeStream is cudaStreamPerThread (0x2)", "cudaStreamCreate"});
  EXPECT_EQ(of_thread, nullptr);
}

// An error of the program, which must not count as the loss of the device.
TEST_F(NativeStreams, DestroyedBeforeTheirHandleLoseNoDevice) {
  cudaStream_t gone = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&gone, cudaStreamNonBlocking), cudaSuccess);
  aclrtStream handle = nullptr;
  expect(0, openaclnnCreateStreamFromNative(gone, &handle));
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(gone), cudaSuccess);
  const auto why = {std::string_view("cudaErrorContextIsDestroyed"),
                    std::string_view("destroyed the stream")};
  expect(507000, aclrtSynchronizeStream(handle), why);
  Counter counter;
  expect(361001, counter.add(handle), why);
  expect(507000, aclrtDestroyStream(handle), why);  // the handle was destroyed nevertheless
  expect(107017, aclrtSynchronizeStream(handle), {"not a live stream"});
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  void* memory = nullptr;
  expect(0, aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(memory));
}

// The library's own requests (memory, other streams) must stay out of the capture.
TEST_F(NativeStreams, CanBeCapturedIntoAGraph) {
  Counter counter, outside;
  Lookup lookup({1, 5, 2});
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  expect(0, counter.add(wrapped, 1));
  expect(0, lookup.enqueue(wrapped));
  void* memory = nullptr;
  expect(0, aclrtMalloc(&memory, 12345, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, outside.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtFree(memory));
  EXPECT_FALSE(is_idle(wrapped));
  expect(207000, aclrtSynchronizeStream(wrapped), {"being captured into a CUDA graph"});
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess)
      << "the capture was spoilt";
  EXPECT_EQ(counter.value(), 0.0f);
  EXPECT_EQ(outside.value(), 1.0f);

  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  for (int k = 0; k < 3; ++k) ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
  expect(0, aclrtSynchronizeStream(wrapped));
  EXPECT_EQ(counter.value(), 7.0f);
  EXPECT_EQ(lookup.out(), (std::vector<float>{10, 50, 20}));
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
}

TEST_F(NativeStreams, ReportFaultsOfEveryReplay) {
  Lookup lookup({1, 55});
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  expect(0, lookup.enqueue(wrapped));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess);
  expect(0, aclrtSynchronizeStream(wrapped));
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  for (int k = 0; k < 2; ++k) {
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
    expect(507035, aclrtSynchronizeStream(wrapped), {"aclnnEmbedding", "indices[1] = 55"});
    expect(0, aclrtSynchronizeStream(wrapped));
  }
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
}

}  // namespace
