// Tests streams that are being captured into a CUDA graph: which calls are rejected, and which earlier work
// is kept.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "cuda/native_stream.h"
#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "runtime/lookup.h"
#include "support/paths.h"
#include "support/subprocess.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

class Captures : public NativeStreamTest {
 protected:
  void begin_capture() {
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  }
  // The graph is not needed.
  void end_capture() {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess)
        << "the capture was spoilt";
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
  }
  void* allocate() const {
    void* memory = nullptr;
    expect(0, aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    return memory;
  }
  // Frees the block while a stream may use it, and returns whether the next allocation gets it.
  bool is_handed_out_after_free(void* memory) const {
    expect(0, aclrtFree(memory));
    void* const next = allocate();
    expect(0, aclrtFree(next));
    return next == memory;
  }

  static size_t free_bytes() {
    size_t free = 0, total = 0;
    expect(0, aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    return free;
  }
  // Returns whether a block that nothing uses any more is reused. CUDA notices a little later than the host
  // that it is done.
  bool comes_back(void* memory) const {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      void *one = allocate(), *other = allocate();
      expect(0, aclrtFree(one));
      expect(0, aclrtFree(other));
      if (one == memory || other == memory) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // Sizes of blocks: each test has its own, so that none gets a block of another test.
  const size_t bytes = [] {
    static size_t tests = 0;
    return ++tests << 20;
  }();
};

TEST_F(Captures, AreNotJoinedByStreamsOfTheLibrary) {
  const aclrtEvent event = new_event();
  Counter captured, outside;
  begin_capture();
  expect(0, captured.add(wrapped));
  expect(0, aclrtRecordEvent(event, wrapped));
  expect(207000, aclrtStreamWaitEvent(stream, event),
         {"event was recorded while", "cannot join the capture"});
  expect(0, outside.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(outside.value(), 1.0f);
  end_capture();
  expect(0, aclrtDestroyEvent(event));
}

// Queries of a graph's events do not invalidate it: they are answered without CUDA.
TEST_F(Captures, EventsOfAGraphAreNoPointsInTime) {
  const aclrtEvent before = new_event(), captured = new_event();
  expect(0, aclrtRecordEvent(before, wrapped));
  expect(0, aclrtSynchronizeEvent(before));
  begin_capture();
  expect(0, aclrtRecordEvent(captured, wrapped));
  const auto why = {std::string_view("event was recorded while a CUDA graph was captured")};
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  float milliseconds = 0;
  expect(207000, aclrtQueryEventStatus(captured, &status), why);
  expect(207000, aclrtSynchronizeEvent(captured), why);
  expect(207000, aclrtSynchronizeEventWithTimeout(captured, 10), why);
  expect(207000, aclrtEventElapsedTime(&milliseconds, before, captured), why);
  expect(207000, aclrtEventElapsedTime(&milliseconds, captured, before), why);
  end_capture();
  expect(207000, aclrtSynchronizeEvent(captured), why);
  expect(0, aclrtRecordEvent(captured, wrapped));
  expect(0, aclrtSynchronizeEvent(captured));
  expect(0, aclrtDestroyEvent(before));
  expect(0, aclrtDestroyEvent(captured));
}

TEST_F(Captures, MayBeginWhileAnEventIsRecorded) {
  const aclrtEvent event = new_event();
  fake("capture=1");
  expect(0, aclrtRecordEvent(event, wrapped));
  expect(207000, aclrtStreamWaitEvent(stream, event), {"cannot join the capture"});
  expect(207000, aclrtSynchronizeEvent(event), {"recorded while a CUDA graph was captured"});
  end_capture();
  expect(0, aclrtDestroyEvent(event));
}

// The emulation stands for CUDA here: no other test can find errors that it does not report.
TEST_F(Captures, AreJudgedByTheFakeAsByCuda) {
  cudaStream_t forked = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&forked, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaEventCreateWithFlags)(&event, cudaEventDefault), cudaSuccess);
  void* nothing = &graph;
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaMalloc)(&nothing, 0), cudaSuccess);
  EXPECT_EQ(nothing, nullptr);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaMemsetAsync)(&graph, 0, sizeof graph, native), cudaErrorInvalidValue);
  fake("held");
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaEventRecord)(event, native), cudaSuccess);
  float milliseconds = 0;
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaEventElapsedTime)(&milliseconds, event, event), cudaErrorNotReady);
  fake("");
  const auto note = [](void*) {};
  begin_capture();
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaEventRecord)(event, native), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamWaitEvent)(forked, event, 0), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(forked, note, nullptr), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(forked, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(OPENACLNN_FAKE(cudaGetLastError)(), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaEventDestroy)(event), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(forked), cudaSuccess);
}

TEST_F(Captures, AreJoinedByStreamsOfTheProgram) {
  cudaStream_t second = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&second, cudaStreamNonBlocking), cudaSuccess);
  aclrtStream joining = nullptr;
  expect(0, openaclnnCreateStreamFromNative(second, &joining));
  const aclrtEvent fork = new_event(), join = new_event();
  Counter counter;
  begin_capture();
  expect(0, counter.add(wrapped, 1));
  expect(0, aclrtRecordEvent(fork, wrapped));
  expect(0, aclrtStreamWaitEvent(joining, fork));
  expect(0, counter.add(joining, 1));
  expect(207000, aclrtSynchronizeStream(joining), {"being captured into a CUDA graph"});
  expect(0, aclrtRecordEvent(join, joining));
  expect(0, aclrtStreamWaitEvent(wrapped, join));
  end_capture();
  expect(0, aclrtSynchronizeStream(joining));
  EXPECT_EQ(counter.value(), 0.0f);
  expect(0, aclrtDestroyEvent(fork));
  expect(0, aclrtDestroyEvent(join));
  expect(0, aclrtDestroyStream(joining));
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(second), cudaSuccess);
}

TEST_F(Captures, KeepFreedMemoryOfEarlierTasks) {
  fake("held");
  void* const memory = allocate();
  expect(0, aclrtMemsetAsync(memory, bytes, 3, bytes, wrapped));
  begin_capture();
  EXPECT_FALSE(is_handed_out_after_free(memory)) << "a task from before the capture still writes there";
  end_capture();
  fake("");
  expect(0, aclrtSynchronizeStream(wrapped));
  if (kAddressSanitizer || kThreadSanitizer) return;  // blocks return to the driver at once
  EXPECT_TRUE(comes_back(memory)) << "the block was lost";
}

// A capture may start at any moment of a free: its event may then be part of the graph.
TEST_F(Captures, BeginWhileOtherThreadsFree) {
  const size_t free_before = free_bytes(), enough = free_before / 2;
  std::atomic<bool> stop{false};
  std::thread freeing([&] {
    expect(0, aclrtSetDevice(0));
    while (!stop) {
      // Memory that is freed in a capture is kept until the capture ends.
      if (free_bytes() < enough) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      expect(0, aclrtFree(allocate()));
    }
  });
  void* const target = allocate();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaMemsetAsync)(target, 5, 64, native), cudaSuccess);
    expect(0, aclrtMemsetAsync(target, bytes, 6, 64, wrapped));
    begin_capture();
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaMemsetAsync)(target, 7, 64, native), cudaSuccess);
    end_capture();
  }
  stop = true;
  freeing.join();
  expect(0, aclrtFree(target));
  expect(0, aclrtSynchronizeStream(wrapped));
  for (int attempt = 0; attempt < 1000 && free_bytes() < free_before; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    expect(0, aclrtFree(allocate()));  // examines the blocks
  }
  EXPECT_GE(free_bytes(), free_before) << "blocks wait for ever";
}

// Each free queries each stream once, however many blocks wait for the end of the capture.
TEST_F(Captures, TakeManyFrees) {
  constexpr int kBlocks = 500;
  std::vector<void*> blocks;
  for (int k = 0; k < kBlocks; ++k) blocks.push_back(allocate());
  expect(0, aclrtMemsetAsync(blocks[0], bytes, 3, bytes, wrapped));
  begin_capture();
  (void)fake("");
  for (void* const block : blocks) expect(0, aclrtFree(block));
  EXPECT_LT(fake(""), 100u * kBlocks) << "calls of CUDA";
  end_capture();
}

TEST_F(Captures, KeepMemoryEvenWhenTheHandleEndsFirst) {
  void* const memory = allocate();
  expect(0, aclrtMemsetAsync(memory, bytes, 3, bytes, wrapped));
  begin_capture();
  expect(0, aclrtFree(memory));
  end_capture();
  expect(0, aclrtDestroyStream(wrapped));
  wrapped = nullptr;
  expect(0, aclrtFree(allocate()));
}

TEST_F(Captures, FreedMemoryWaitsForKernelsOfTheProgram) {
  fake("held");
  void* const memory = allocate();
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaMemsetAsync)(memory, 5, bytes, native), cudaSuccess);
  EXPECT_FALSE(is_handed_out_after_free(memory)) << "the program's own work still writes there";
  fake("");
  expect(0, aclrtSynchronizeStream(wrapped));
}

TEST_F(Captures, LeaveTheDefaultStreamAlone) {
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&blocking, 0), cudaSuccess);
  aclrtStream of_default = nullptr;
  expect(0, openaclnnCreateStreamFromNative(nullptr, &of_default));
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(blocking, cudaStreamCaptureModeGlobal), cudaSuccess);
  expect(0, aclrtFree(allocate()));
  expect(207000, aclrtSynchronizeStream(of_default), {"being captured"});
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(blocking, &graph), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
  expect(0, aclrtDestroyStream(of_default));
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(blocking), cudaSuccess);
}

TEST_F(Captures, TakeNoHostFunctions) {
  const aclrtEvent event = new_event();
  expect(0, aclrtRecordEvent(event, wrapped));
  begin_capture();
  expect(207000, aclrtResetEvent(event, wrapped), {"cannot contain aclrtResetEvent"});
  end_capture();
  expect(0, aclrtResetEvent(event, wrapped));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(Captures, KeepTheHandleOfTheirStream) {
  begin_capture();
  expect(207000, aclrtDestroyStream(wrapped), {"being captured into a CUDA graph"});
  Counter counter;
  expect(0, counter.add(wrapped));
  end_capture();
}

// Not while the graph may write the memory that is read.
TEST_F(Captures, FaultsOfReplaysAreReadWhenTheStreamIsIdle) {
  Lookup lookup({1, 55});
  const aclrtEvent event = new_event();
  begin_capture();
  expect(0, lookup.enqueue(wrapped));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
  expect(0, aclrtRecordEvent(event, wrapped));
  std::promise<void> gate;
  const auto wait_for = [](void* closed) { static_cast<std::promise<void>*>(closed)->get_future().wait(); };
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaLaunchHostFunc)(native, wait_for, &gate), cudaSuccess);
  expect(0, aclrtSynchronizeEvent(event));  // the stream continues
  gate.set_value();
  expect(507035, aclrtSynchronizeStream(wrapped), {"aclnnEmbedding", "indices[1] = 55"});
  expect(0, aclrtDestroyEvent(event));
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
}

class WaitingInProcess : public Captures {};
PROCESS_TEST_F(WaitingInProcess, CallsAreRefusedBeforeTheyBecomePartOfTheGraph) {
  Counter counter;
  begin_capture();
  expect(207000, counter.add(wrapped), {"being captured into a CUDA graph"});
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
  expect(0, aclrtSynchronizeStream(wrapped));
  EXPECT_EQ(counter.value(), 0.0f) << "the refused call is in the graph";
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
}

TEST(CapturesOf, CallsThatWaitAreRefused) {
  const openaclnn_test::ProcessResult result =
      openaclnn_test::run_suite("Waiting", {{"OPENACLNN_DEVICE", "cuda"},
                                            {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                                            {"OPENACLNN_BLOCKING", "1"}});
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
}

// Stored records are released when no later work needs them.
TEST_F(Captures, RecordsOfAStreamWithoutTasksTakeNoMemory) {
  const aclrtEvent event = new_event();
  expect(0, aclrtRecordEvent(event, wrapped));
  fake("fail=cudaEventCreate:20");
  for (int k = 0; k < 200; ++k) expect(0, aclrtRecordEvent(event, wrapped));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(Captures, PinnedMemoryGoesBack) {
  const auto pinned_bytes = OPENACLNN_FAKE(openaclnn_fake_cuda_pinned_bytes);
  const size_t before = pinned_bytes();
  for (size_t k = 0; k < 6; ++k) {
    void* pinned = nullptr;
    expect(0, aclrtMallocHost(&pinned, (size_t{1} << 29) + (k << 27)));
    expect(0, aclrtFreeHost(pinned));
    expect(0,
           aclrtSynchronizeStream(wrapped));  // the block can be reused when the stream has passed the free
  }
  EXPECT_LE(pinned_bytes() - before, size_t{3} << 29) << "more than the last block is kept";
}

}  // namespace
