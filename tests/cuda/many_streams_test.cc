// Runs many threads and streams of one device at once. Every call keeps the bits that it has alone, while
// memory is freed during tasks and reused. On a GPU, kernels overlap here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "cuda/planned_case.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/device_twin.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kThreads = 4;
constexpr int kStreams = 2;  // per thread
constexpr int kCalls = 3;    // per stream, before it is waited for
constexpr int64_t kMostBytes = 1 << 20;

// OPENACLNN_TEST_ROUNDS=1000 for a longer run.
int rounds() {
#if defined(__SANITIZE_THREAD__)
  constexpr int kRounds = 1;  // they take fifty times as long
#else
  constexpr int kRounds = 3;
#endif
  const char* const text = std::getenv("OPENACLNN_TEST_ROUNDS");
  return text != nullptr ? std::max(std::atoi(text), 1) : kRounds;
}

std::vector<Case> small_cases() {
  std::vector<Case> small;
  for (const Case& c : all_cases()) {
    if (c.minimal_bytes <= kMostBytes) small.push_back(c);
  }
  return small;
}

struct Stream {
  aclrtStream handle = nullptr;
  std::vector<PlannedCase> calls;
};
using StreamsOfThread = std::array<Stream, kStreams>;

// Frees the workspace while its task may still run. The next owner of the memory must be able to write it
// at once, in any stream.
void run_and_free(const PlannedCase& call, aclrtStream stream, aclrtStream other) {
  const size_t bytes = std::max<size_t>(call.workspace_bytes, 64);
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0) << take_error_text();
  EXPECT_EQ(call.of->phase2(workspace, call.workspace_bytes, call.executor, stream), 0) << take_error_text();
  ASSERT_EQ(aclrtFree(workspace), 0) << take_error_text();
  ASSERT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0) << take_error_text();
  EXPECT_EQ(aclrtMemsetAsync(workspace, bytes, 0xFF, bytes, other), 0) << take_error_text();
  ASSERT_EQ(aclrtFree(workspace), 0) << take_error_text();
}

void run_all(const StreamsOfThread& streams) {
  use_device();
  for (size_t n = 0; n < kCalls; ++n) {
    for (size_t k = 0; k < kStreams; ++k)
      run_and_free(streams[k].calls[n], streams[k].handle, streams[(k + 1) % kStreams].handle);
  }
  for (const Stream& stream : streams)
    EXPECT_EQ(aclrtSynchronizeStream(stream.handle), 0) << take_error_text();
}

TEST(ManyStreams, KeepTheBitsOfEveryCall) {
  use_device();
  const std::vector<Case> cases = small_cases();
  std::mt19937_64 random(1);
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    std::array<StreamsOfThread, kThreads> threads;
    for (StreamsOfThread& streams : threads) {
      for (Stream& stream : streams) {
        ASSERT_EQ(aclrtCreateStream(&stream.handle), 0) << take_error_text();
        for (int n = 0; n < kCalls; ++n) stream.calls.emplace_back(cases[random() % cases.size()]);
      }
    }
    DeviceTwin::upload_all();
    std::vector<std::thread> running;
    for (const StreamsOfThread& streams : threads) running.emplace_back([&streams] { run_all(streams); });
    for (std::thread& thread : running) thread.join();
    DeviceTwin::download_all();
    for (const StreamsOfThread& streams : threads) {
      for (const Stream& stream : streams) {
        EXPECT_EQ(aclrtDestroyStream(stream.handle), 0) << take_error_text();
        for (const PlannedCase& call : stream.calls) {
          const std::vector<HostTensor> alone = make_tensors(*call.of);
          ASSERT_TRUE(succeeded(run_case(*call.of, alone)));
          EXPECT_EQ(hash_of_results(*call.of, call.tensors), hash_of_results(*call.of, alone))
              << call.of->name;
        }
      }
    }
    if (HasFailure()) return;
  }
}

// Bytes pass from stream to stream: each copies the bytes of the previous one, and only an event says when
// they are ready.
TEST(ManyStreams, WaitForEachOthersEvents) {
  use_device();
  constexpr size_t kBytes = 1 << 18, kHops = 16;
  std::array<aclrtStream, kHops> streams;
  std::array<void*, kHops + 1> blocks;
  for (aclrtStream& stream : streams) ASSERT_EQ(aclrtCreateStream(&stream), 0) << take_error_text();
  for (void*& block : blocks)
    ASSERT_EQ(aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0) << take_error_text();
  std::vector<unsigned char> sent(kBytes), received(kBytes);
  for (int round = 0; round < rounds(); ++round) {
    for (size_t k = 0; k < kBytes; ++k)
      sent[k] = static_cast<unsigned char>(k * 31 + static_cast<size_t>(round));
    ASSERT_EQ(aclrtMemcpy(blocks[0], kBytes, sent.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    std::array<aclrtEvent, kHops> events;
    for (size_t k = 0; k < kHops; ++k) {
      ASSERT_EQ(aclrtCreateEvent(&events[k]), 0) << take_error_text();
      if (k > 0) {
        ASSERT_EQ(aclrtStreamWaitEvent(streams[k], events[k - 1]), 0) << take_error_text();
      }
      ASSERT_EQ(
          aclrtMemcpyAsync(blocks[k + 1], kBytes, blocks[k], kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, streams[k]),
          0);
      ASSERT_EQ(aclrtRecordEvent(events[k], streams[k]), 0) << take_error_text();
    }
    ASSERT_EQ(aclrtSynchronizeEvent(events[kHops - 1]), 0) << take_error_text();
    ASSERT_EQ(aclrtMemcpy(received.data(), kBytes, blocks[kHops], kBytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    EXPECT_EQ(received, sent) << "round " << round;
    for (const aclrtEvent event : events) EXPECT_EQ(aclrtDestroyEvent(event), 0) << take_error_text();
  }
  for (void* const block : blocks) EXPECT_EQ(aclrtFree(block), 0) << take_error_text();
  for (const aclrtStream stream : streams) EXPECT_EQ(aclrtDestroyStream(stream), 0) << take_error_text();
}

}  // namespace
}  // namespace openaclnn_test
