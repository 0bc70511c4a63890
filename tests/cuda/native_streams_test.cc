// Streams that the program made with CUDA, and CUDA graphs captured from them.
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "cuda/cuda_api.h"
#include "openaclnn/openaclnn.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

class NativeStreams : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&native, cudaStreamNonBlocking), cudaSuccess);
    expect(0, openaclnnCreateStreamFromNative(native, &wrapped));
  }
  void TearDown() override {
    if (wrapped != nullptr) expect(0, aclrtDestroyStream(wrapped));
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(native), cudaSuccess);
    CudaTest::TearDown();
  }
  void native_wait() { EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamSynchronize)(native), cudaSuccess); }

  cudaStream_t native = nullptr;
  aclrtStream wrapped = nullptr;
};

TEST_F(NativeStreams, RunOperatorsInTheirOrder) {
  fake("slow=2000");
  Counter counter;
  expect(0, counter.add(wrapped, 1));
  expect(0, counter.add(wrapped, 1));
  native_wait();
  EXPECT_EQ(counter.value(), 3.0f);
  // Work that the program itself put there is waited for, too.
  static int called;
  called = 0;
  const auto note = [](void*) { ++called; };
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(native, note, nullptr), cudaSuccess);
  EXPECT_FALSE(is_idle(wrapped));
  expect(0, aclrtSynchronizeStream(wrapped));
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(is_idle(wrapped));
}

// CUDA takes pageable memory when the stream gets there, and the call that asked for the copy waits meanwhile. A free must not.
TEST_F(NativeStreams, MemoryIsFreedBesideACopyThatWaits) {
  static std::promise<void> opened;
  opened = {};
  const auto wait_for_gate = [](void*) { opened.get_future().wait(); };
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(native, wait_for_gate, nullptr), cudaSuccess);
  void *target = nullptr, *block = nullptr;
  const std::vector<char> pageable(1 << 20, 'x');
  expect(0, aclrtMalloc(&target, pageable.size(), ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  std::thread copying([&] {
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtMemcpyAsync(target, pageable.size(), pageable.data(), pageable.size(),
                               ACL_MEMCPY_HOST_TO_DEVICE, wrapped));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for the copy to begin
  std::future<aclError> freed = std::async(std::launch::async, [&] { return aclrtFree(block); });
  EXPECT_EQ(freed.wait_for(std::chrono::seconds(20)), std::future_status::ready)
      << "the free waits for the copy";
  opened.set_value();
  copying.join();
  expect(0, freed.get());
  expect(0, aclrtSynchronizeStream(wrapped));
  expect(0, aclrtFree(target));
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
  expect(100000, openaclnnCreateStreamFromNative(native, nullptr), {"stream is NULL"});
}

// Everything that the library does for itself meanwhile (memory, other streams) must stay out of the capture.
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
