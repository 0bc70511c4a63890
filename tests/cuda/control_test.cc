// Tests the CUDA device's queues, events, memory and faults, over the fake runtime, whose streams are
// threads.
#include <cstring>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "cuda/fake_cuda.h"
#include "runtime/counter.h"
#include "runtime/lookup.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

class Control : public CudaTest {};

TEST_F(Control, UsesTheCudaPlatform) {
  uint32_t count = 0;
  expect(0, aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 1u);
  size_t free_bytes = 0, total_bytes = 0;
  expect(0, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, size_t{8} << 30) << "not the fake GPU";
}

TEST_F(Control, TasksOfAStreamKeepTheirOrder) {
  fake("slow=20");
  Counter counter;
  float expected = 0;
  for (int k = 0; k < 300; ++k) {
    const double decay = k % 3 == 0 ? 0.5 : 0;
    if (expected > 1e6f) break;
    expected += 1 + static_cast<float>(decay) * expected;
    expect(0, counter.add(stream, decay));
  }
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), expected);
}

TEST_F(Control, EventsOrderStreams) {
  fake("slow=500");
  const aclrtStream other = new_stream();
  const aclrtEvent event = new_event();
  Counter counter;
  for (int k = 0; k < 20; ++k) {
    expect(0, counter.add(k % 2 == 0 ? stream : other, 1));
    expect(0, aclrtRecordEvent(event, k % 2 == 0 ? stream : other));
    expect(0, aclrtStreamWaitEvent(k % 2 == 0 ? other : stream, event));
  }
  expect(0, aclrtSynchronizeEvent(event));
  EXPECT_EQ(counter.value(), static_cast<float>((1 << 20) - 1));  // x -> 2x + 1, twenty times
  expect(0, aclrtDestroyEvent(event));
  expect(0, aclrtDestroyStream(other));
}

TEST_F(Control, EventsTellTheirState) {
  const aclrtEvent start = new_event(), end = new_event();
  expect(0, aclrtRecordEvent(start, stream));
  expect(0, aclrtSynchronizeEvent(start));
  fake("held");
  Counter counter;
  expect(0, counter.add(stream));
  expect(0, aclrtRecordEvent(end, stream));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  expect(0, aclrtQueryEventStatus(end, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  float milliseconds = 0;
  expect(107006, aclrtEventElapsedTime(&milliseconds, start, end), {"not been reached yet"});
  expect(507047, aclrtSynchronizeEventWithTimeout(end, 20), {"timeout expired"});
  fake("");
  expect(0, aclrtSynchronizeEventWithTimeout(end, 60000));
  expect(0, aclrtEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 19.0f);
  expect(107007, aclrtEventElapsedTime(&milliseconds, end, start), {"before"});
  expect(0, aclrtResetEvent(end, stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(107006, aclrtEventElapsedTime(&milliseconds, start, end), {"never recorded"});
  expect(0, aclrtDestroyEvent(start));
  expect(0, aclrtDestroyEvent(end));
}

TEST_F(Control, WaitsEndInTime) {
  fake("held");
  Counter counter;
  expect(0, counter.add(stream));
  EXPECT_FALSE(is_idle(stream));
  expect(507046, aclrtSynchronizeStreamWithTimeout(stream, 1), {"timeout expired"});
  expect(507046, aclrtSynchronizeDeviceWithTimeout(1), {"timeout expired"});
  fake("");
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, 60000));
  EXPECT_TRUE(is_idle(stream));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(Control, CopiesAndFillsReachTheirMemory) {
  fake("slow=200");
  constexpr size_t kBytes = 300000;
  std::vector<char> source(kBytes), back(kBytes);
  for (size_t k = 0; k < kBytes; ++k) source[k] = static_cast<char>(k * 7);
  const std::vector<char> original = source;
  void *device = nullptr, *second = nullptr, *pinned = nullptr;
  expect(0, aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMalloc(&second, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMallocHost(&pinned, kBytes));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % 64, 0u);
  expect(0, aclrtMemcpyAsync(device, kBytes, source.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  std::memset(source.data(), 1, kBytes);  // pageable memory may be reused at once
  expect(0, aclrtMemcpyAsync(second, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  expect(0, aclrtMemsetAsync(second, kBytes, 0x1FF, 10, stream));
  expect(0, aclrtMemcpyAsync(pinned, kBytes, second, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  expect(0, aclrtSynchronizeStream(stream));
  for (size_t k = 0; k < kBytes; ++k) {
    const char wanted = k < 10 ? '\xFF' : original[k];
    ASSERT_EQ(static_cast<const char*>(pinned)[k], wanted) << k;
  }
  expect(0, aclrtMemset(device, kBytes, 5, kBytes));
  expect(0, aclrtMemcpy(back.data(), kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, std::vector<char>(kBytes, 5));
  expect(107000, aclrtMemcpy(device, kBytes + 1000, source.data(), kBytes + 1000, ACL_MEMCPY_HOST_TO_DEVICE),
         {"dst has"});
  expect(0, aclrtFree(device));
  expect(107000, aclrtFree(device), {"not the start of a live block"});
  expect(0, aclrtFree(second));
  expect(0, aclrtFreeHost(pinned));
}

// CUDA may read and write pageable memory when the stream reaches the copy, so the call waits for that.
TEST_F(Control, CopiesOfPageableMemoryAreDoneOnReturn) {
  fake("slow=20000");
  char from[100], to[100] = {};
  std::memset(from, 5, sizeof from);
  void* device = nullptr;
  expect(0, aclrtMalloc(&device, sizeof from, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMemcpyAsync(device, sizeof from, from, sizeof from, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  std::memset(from, 1, sizeof from);
  expect(0, aclrtMemcpyAsync(to, sizeof to, device, sizeof to, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_EQ(std::string(to, sizeof to), std::string(sizeof to, 5));
  expect(0, aclrtFree(device));
}

// Copies of pinned memory run while the program continues, even copies of a part.
TEST_F(Control, CopiesOfPinnedMemoryDoNotWait) {
  fake("held");
  void *device = nullptr, *pinned = nullptr;
  expect(0, aclrtMalloc(&device, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMallocHost(&pinned, 1000));
  expect(0, aclrtMemcpyAsync(device, 500, static_cast<char*>(pinned) + 100, 500, ACL_MEMCPY_DEFAULT, stream));
  EXPECT_FALSE(is_idle(stream));
  fake("");
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtFree(device));
  expect(0, aclrtFreeHost(pinned));
}

TEST_F(Control, FreedMemoryServesTheTasksBeforeTheFree) {
  fake("held");
  constexpr size_t kBytes = 4096;
  void *device = nullptr, *pinned = nullptr;
  expect(0, aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMallocHost(&pinned, kBytes));
  expect(0, aclrtMemsetAsync(device, kBytes, 3, kBytes, stream));
  expect(0, aclrtMemcpyAsync(pinned, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  expect(0, aclrtFree(device));
  EXPECT_FALSE(is_idle(stream)) << "the free waited";
  void* next = nullptr;
  expect(0, aclrtMalloc(&next, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_NE(next, device) << "memory in use was handed out again";
  fake("");
  expect(0, aclrtMemset(next, kBytes, 9, kBytes));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(static_cast<const char*>(pinned)[kBytes - 1], 3);
  expect(0, aclrtFree(next));
  expect(0, aclrtFreeHost(pinned));
}

TEST_F(Control, MemoryThatDoesNotExistIsRefused) {
  void* address = &address;
  expect(207001, aclrtMalloc(&address, size_t{1} << 40, ACL_MEM_MALLOC_HUGE_FIRST),
         {"EL0004 Failed to allocate", "on device 0", "bytes free"});
  EXPECT_EQ(address, nullptr);
  expect(0, aclrtMalloc(&address, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(address));
}

TEST_F(Control, FaultsComeOnceAndInOrder) {
  fake("slow=200");
  Lookup good({1, 2}), bad({3, 77, -4}), worse({10});
  expect(0, good.enqueue(stream));
  expect(0, bad.enqueue(stream));
  const aclrtEvent event = new_event();
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, worse.enqueue(stream));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  expect(0, aclrtStreamQuery(stream, &status));
  expect(507035, aclrtSynchronizeEvent(event), {"aclnnEmbedding", "task 2", "indices[1] = 77", "[0, 10)"});
  expect(507035, aclrtSynchronizeStream(stream), {"aclnnEmbedding", "task 3", "indices[0] = 10"});
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(bad.out(), (std::vector<float>{30, 0, 0}));
  EXPECT_EQ(good.out(), (std::vector<float>{10, 20}));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(Control, ManyTasksWithoutAWait) {
  Counter counter;
  for (int k = 0; k < 2000; ++k) expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 2000.0f);
}

// The program may have left an error behind, which CUB queries after its launches.
TEST_F(Control, ErrorsOfTheProgramAreNotThoseOfASort) {
  constexpr int64_t kPositions = 9000;
  std::vector<float> grad(kPositions, 1.0f), out(1);
  std::vector<int64_t> indices(kPositions);
  aclTensor* const tensors[] = {make_tensor({kPositions, 1}, ACL_FLOAT, grad.data()),
                                make_tensor({kPositions}, ACL_INT64, indices.data()),
                                make_tensor({1, 1}, ACL_FLOAT, out.data())};
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  expect(0, aclnnEmbeddingDenseBackwardGetWorkspaceSize(tensors[0], tensors[1], 1, 1, false, tensors[2],
                                                        &workspace_bytes, &executor));
  void* workspace = nullptr;
  expect(0, aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(OPENACLNN_FAKE(cudaSetDevice)(99), cudaErrorInvalidDevice);
  expect(0, aclnnEmbeddingDenseBackward(workspace, workspace_bytes, executor, stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(out[0], static_cast<float>(kPositions));
  expect(0, aclrtFree(workspace));
  for (const aclTensor* tensor : tensors) (void)aclDestroyTensor(tensor);
}

TEST_F(Control, ThreadsShareStreamsAndMemory) {
  std::vector<std::thread> threads;
  std::vector<Counter> counters(4);
  for (Counter& counter : counters) {
    threads.emplace_back([&] {
      expect(0, aclrtSetDevice(0));
      const aclrtStream own = new_stream();
      const aclrtEvent event = new_event();
      for (int k = 0; k < 40; ++k) {
        void* memory = nullptr;
        expect(0, aclrtMalloc(&memory, 1000 + 300 * static_cast<size_t>(k % 3), ACL_MEM_MALLOC_HUGE_FIRST));
        expect(0, aclrtMemsetAsync(memory, 1000, k, 1000, stream));
        expect(0, counter.add(own));
        expect(0, aclrtRecordEvent(event, own));
        expect(0, aclrtStreamWaitEvent(stream, event));
        expect(0, aclrtFree(memory));
        if (k % 10 == 0) expect(0, aclrtSynchronizeDevice());
      }
      expect(0, aclrtSynchronizeStream(own));
      expect(0, aclrtDestroyEvent(event));
      expect(0, aclrtDestroyStream(own));
      expect(0, aclrtResetDevice(0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Counter& counter : counters) EXPECT_EQ(counter.value(), 40.0f);
}

TEST_F(Control, FinalizeDrainsAndEndsEverything) {
  fake("slow=5000");
  Counter counter;
  expect(0, aclInit(nullptr));
  expect(0, counter.add(stream));
  expect(0, aclFinalize());
  EXPECT_EQ(counter.value(), 1.0f);
  expect(107002, aclrtSynchronizeStream(stream), {"destroyed"});
  expect(0, aclrtSetDevice(0));
  stream = new_stream();
}

}  // namespace
