// Tests streams: order, independence, waiting with and without limit, and every way to end one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using StreamTest = RuntimeTest;

TEST_F(StreamTest, RunsTasksInOrder) {
  Counter counter;
  // 0 -> 1 -> 3 -> 4 -> 9 -> 10: any other order of +1 and 2x+1 gives another number.
  for (double weight_decay : {0.0, 1.0, 0.0, 1.0, 0.0}) expect(0, counter.add(stream, weight_decay));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 10.0f);
}

TEST_F(StreamTest, KeepsOrderOverThousandsOfTasks) {
  Counter counter;
  float expected = 0;
  for (int k = 0; k < 4000; ++k) {
    // Halving: value - value/2 + 1 stays small and depends on every previous step.
    const double weight_decay = k % 3 == 0 ? -0.5 : -0.25;
    expect(0, counter.add(stream, weight_decay));
    expected = expected + (1.0f + static_cast<float>(weight_decay) * expected);
  }
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_NEAR(counter.value(), expected, 1e-3);
}

TEST_F(StreamTest, SmallTasksOfAnIdleStreamAreDoneOnReturn) {
  Counter counter;
  expect(0, counter.add(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  EXPECT_TRUE(is_idle(stream));
  // A synchronize reports the faults of such a task, as always.
  Lookup bad({77});
  expect(0, bad.enqueue(stream));
  EXPECT_EQ(bad.out()[0], 0.0f);
  expect(507035, aclrtSynchronizeStream(stream), {"indices[0] = 77"});
}

TEST_F(StreamTest, SmallTasksKeepTheirPlaceInTheStream) {
  Gate gate;
  Counter counter;
  aclrtStream other = new_stream();
  aclrtEvent event = new_event();
  expect(0, gate.enqueue(stream));
  expect(0, counter.add(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(other, event));
  expect(0, counter.add(other, 1.0));
  EXPECT_EQ(counter.value(), 0.0f);
  gate.open();
  expect(0, aclrtSynchronizeStream(other));
  EXPECT_EQ(counter.value(), 3.0f);  // 0 -> 1 -> 3
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtDestroyStream(other));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(StreamTest, NullIsTheDefaultStream) {
  aclrtStream default_stream = nullptr;
  expect(0, aclrtCtxGetCurrentDefaultStream(&default_stream));
  ASSERT_NE(default_stream, nullptr);
  Gate gate;
  expect(0, gate.enqueue(nullptr));
  EXPECT_FALSE(is_idle(default_stream));
  EXPECT_FALSE(is_idle(nullptr));
  // No additional synchronisation: another stream overtakes.
  Counter counter;
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  gate.open();
  expect(0, aclrtSynchronizeStream(default_stream));
  EXPECT_TRUE(is_idle(nullptr));
}

TEST_F(StreamTest, TimeoutsExpireAndCancelNothing) {
  Gate gate;
  Counter counter;
  expect(0, gate.enqueue(stream));
  expect(0, counter.add(stream));
  expect(507046, aclrtSynchronizeStreamWithTimeout(stream, 0),
         {"aclrtSynchronizeStreamWithTimeout: ", "timeout expired"});
  expect(507046, aclrtSynchronizeStreamWithTimeout(stream, 20));
  expect(507046, aclrtSynchronizeDeviceWithTimeout(0), {"aclrtSynchronizeDeviceWithTimeout: "});
  expect(507046, aclrtSynchronizeDeviceWithTimeout(20));
  EXPECT_FALSE(is_idle(stream));
  EXPECT_EQ(counter.value(), 0.0f);
  gate.open();
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, -1));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, 0));
  expect(0, aclrtSynchronizeDeviceWithTimeout(0));
  expect(0, aclrtSynchronizeDeviceWithTimeout(-1));
}

TEST_F(StreamTest, ATimedWaitNeedsNobodyToDriveTheStream) {
  Counter counter(100000);  // too large for the thread that enqueues it: a worker must run it
  for (int k = 0; k < 100; ++k) expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, 60000));
  EXPECT_TRUE(counter.all_equal(100));
}

TEST_F(StreamTest, NegativeTimeoutsBelowMinusOneAreRefused) {
  expect(107000, aclrtSynchronizeStreamWithTimeout(stream, -2), {"timeout is -2", "-1"});
  expect(107000, aclrtSynchronizeStreamWithTimeout(stream, INT32_MIN), {"timeout is -2147483648"});
  expect(107000, aclrtSynchronizeDeviceWithTimeout(-2), {"timeout is -2"});
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, INT32_MAX));
}

TEST_F(StreamTest, SynchronizeWaitsForTheLastTask) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  gate.wait_until_reached();  // a worker runs it, so the synchronising thread only has to wait
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtSynchronizeStream(stream));
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  gate.open();
  waiter.join();
}

TEST_F(StreamTest, DestroyWaitsForAllTasks) {
  aclrtStream other = new_stream();
  Gate gate;
  Counter counter;
  expect(0, gate.enqueue(other));
  for (int k = 0; k < 10; ++k) expect(0, counter.add(other));
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    expect(0, aclrtDestroyStream(other));
    destroyed = true;
  });
  gate.wait_until_reached();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // in case the stream drops its tasks
  EXPECT_FALSE(destroyed);
  gate.open();
  destroyer.join();
  EXPECT_EQ(counter.value(), 10.0f);
  expect(107017, aclrtSynchronizeStream(other));
}

TEST_F(StreamTest, AStreamBeingDestroyedStillBelongsToItsDevice) {
  aclrtStream other = new_stream();
  aclrtEvent event = new_event();
  Gate gate;
  expect(0, gate.enqueue(other));
  gate.wait_until_reached();
  std::thread destroyer([&] { expect(0, aclrtDestroyStream(other)); });
  while (aclrtRecordEvent(event, other) == 0) std::this_thread::yield();  // until it is closed
  (void)aclGetRecentErrMsg();
  expect(507046, aclrtSynchronizeDeviceWithTimeout(10));
  expect(107017, aclrtDestroyStream(other));  // returns although the gate is closed
  gate.open();
  expect(0, aclrtSynchronizeDevice());
  destroyer.join();
  expect(107017, aclrtDestroyStream(other));
  expect(0, aclrtDestroyEvent(event));
}

// No call tells whether another thread waits, so the test waits longer and longer for it.
TEST_F(StreamTest, ForceDropsTasksThatHaveNotStarted) {
  bool was_dropped = false;
  for (auto time = std::chrono::milliseconds(5); !was_dropped && time < std::chrono::seconds(4); time *= 2) {
    aclrtStream other = new_stream();
    aclrtEvent event = new_event();
    Gate gate;
    Counter counter, behind;
    expect(0, gate.enqueue(other));
    gate.wait_until_reached();
    std::atomic<bool> returned = false;
    int code = 0;
    std::thread waiter([&] {  // for the task at the gate; dropped tasks don't count in its place
      expect(0, aclrtSetDevice(0));
      code = aclrtSynchronizeStream(other);
      (void)aclGetRecentErrMsg();
      if (code == 0) returned = true;
    });
    std::this_thread::sleep_for(time);
    for (int k = 0; k < 10; ++k) expect(0, counter.add(other));
    expect(0, aclrtRecordEvent(event, other));
    expect(0, aclrtStreamWaitEvent(stream, event));
    expect(0, behind.add(stream));
    std::thread destroyer([&] { expect(0, aclrtDestroyStreamForce(other)); });
    std::this_thread::sleep_for(time);
    // The task at the gate has started, so threads and events still wait for it.
    EXPECT_FALSE(returned);
    expect(507046, aclrtSynchronizeStreamWithTimeout(stream, 10));
    gate.open();
    waiter.join();
    destroyer.join();
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(behind.value(), 1.0f);
    expect(0, aclrtSynchronizeEvent(event));
    was_dropped = code == 0 && counter.value() == 0.0f;
    expect(0, aclrtDestroyEvent(event));
  }
  EXPECT_TRUE(was_dropped);
}

TEST_F(StreamTest, ForceOnAStreamThatWaitsForAnEvent) {
  aclrtStream other = new_stream();
  aclrtEvent event = new_event();
  Gate gate;
  Counter counter;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(other, event));
  expect(0, counter.add(other));
  expect(0, aclrtDestroyStreamForce(other));  // returns although the gate is closed
  gate.open();
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(counter.value(), 0.0f);
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(StreamTest, DefaultStreamsCannotBeDestroyed) {
  aclrtStream default_stream = nullptr;
  expect(0, aclrtCtxGetCurrentDefaultStream(&default_stream));
  expect(107017, aclrtDestroyStream(default_stream), {"stream"});
  expect(107017, aclrtDestroyStreamForce(default_stream), {"stream"});
  Counter counter;
  expect(0, counter.add(default_stream));
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(StreamTest, TheCpuHasNoNativeStreams) {
  int native = 0;
  aclrtStream wrapped = nullptr;
  expect(207000, openaclnnCreateStreamFromNative(&native, &wrapped),
         {"CPU platform", "OPENACLNN_DEVICE=cuda"});
  EXPECT_EQ(wrapped, nullptr);
  expect(100000, openaclnnCreateStreamFromNative(&native, nullptr), {"stream is NULL"});
}

TEST_F(StreamTest, PriorityAndFlagsAreHints) {
  for (uint32_t flag : {0u, 1u, 2u, 4u, 8u, 16u, 32u, 0xFFFFFFFFu}) {
    aclrtStream other = nullptr;
    expect(0, aclrtCreateStreamWithConfig(&other, flag, flag));
    Counter counter;
    expect(0, counter.add(other));
    expect(0, aclrtDestroyStream(other));
    EXPECT_EQ(counter.value(), 1.0f);
  }
}

TEST_F(StreamTest, TenThousandStreamsEachWithATask) {
  constexpr size_t kStreams = kThreadSanitizer ? 2000 : 10000;
  std::vector<aclrtStream> streams(kStreams);
  std::vector<uint8_t> bytes(kStreams, 0);
  for (aclrtStream& s : streams) expect(0, aclrtCreateStream(&s));
  for (size_t k = 0; k < kStreams; ++k) expect(0, aclrtMemsetAsync(&bytes[k], 1, 1, 1, streams[k]));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(bytes, std::vector<uint8_t>(kStreams, 1));
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
}

// Each copy from pageable memory checks whether queued tasks write there.
TEST_F(StreamTest, TenThousandStreamsWithAPageableCopyEach) {
  constexpr size_t kStreams = kThreadSanitizer ? 2000 : 10000;
  std::vector<aclrtStream> streams(kStreams);
  for (aclrtStream& s : streams) expect(0, aclrtCreateStream(&s));
  void* block = nullptr;
  expect(0, aclrtMalloc(&block, kStreams * 8, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtEvent event = new_event();
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  auto* const numbers = static_cast<uint64_t*>(block);
  for (size_t k = 0; k < kStreams; ++k) {
    expect(0, aclrtStreamWaitEvent(streams[k], event));
    const uint64_t number = k + 1;
    expect(0, aclrtMemcpyAsync(numbers + k, 8, &number, 8, ACL_MEMCPY_HOST_TO_DEVICE, streams[k]));
  }
  gate.open();
  expect(0, aclrtSynchronizeDevice());
  for (size_t k = 0; k < kStreams; ++k) ASSERT_EQ(numbers[k], k + 1);
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
  expect(0, aclrtFree(block));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(StreamTest, ManyStreamsComeAndGoOnAllSides) {
  constexpr int kThreads = 4;
  constexpr int kRounds = kThreadSanitizer ? 10 : 25;
  constexpr size_t kStreams = 100;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      expect(0, aclrtSetDevice(0));
      for (int round = 0; round < kRounds; ++round) {
        std::vector<Counter> counters(kStreams);
        std::vector<aclrtStream> streams(kStreams);
        for (aclrtStream& s : streams) expect(0, aclrtCreateStream(&s));
        for (size_t k = 0; k < kStreams; ++k) expect(0, counters[k].add(streams[k]));
        for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
        for (const Counter& counter : counters) ASSERT_EQ(counter.value(), 1.0f);
      }
      expect(0, aclrtResetDevice(0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("figure streams %zu\n", kThreads * kRounds * kStreams);
}

// A stream that its caller drained and destroyed before a worker reached it.
TEST_F(StreamTest, CreateRunDestroyManyTimes) {
  Counter counter;
  constexpr int kRounds = 20000;
  for (int k = 0; k < kRounds; ++k) {
    aclrtStream other = new_stream();
    expect(0, counter.add(other));
    if (k % 2 == 0) expect(0, aclrtSynchronizeStream(other));
    expect(0, aclrtDestroyStream(other));
  }
  EXPECT_EQ(counter.value(), static_cast<float>(kRounds));
}

// A stream that a caller drained up to a wait while it was still in the scheduler's list of ready streams.
// Only timed waits and queries follow, which leave all progress to the workers.
TEST_F(StreamTest, WaitingStreamsAreNeverForgotten) {
  constexpr int kRounds = 2000;
  aclrtStream streams[3] = {new_stream(), new_stream(), new_stream()};
  aclrtEvent event = new_event();
  Counter counters[3];
  for (int round = 1; round <= kRounds; ++round) {
    expect(0, counters[0].add(streams[0]));
    expect(0, counters[1].add(streams[1]));
    expect(0, counters[2].add(streams[2]));
    expect(0, aclrtSynchronizeStream(streams[round % 3]));  // drains the task that a worker was woken for
    expect(0, aclrtRecordEvent(event, streams[(round + 1) % 3]));
    expect(0, aclrtStreamWaitEvent(streams[round % 3], event));
    expect(0, aclrtStreamWaitEvent(streams[(round + 2) % 3], event));
    for (aclrtStream s : streams)
      ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(s, 60000), 0) << "round " << round;
  }
  for (const Counter& counter : counters) EXPECT_EQ(counter.value(), static_cast<float>(kRounds));
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(StreamTest, SeveralThreadsMayWaitForOneStream) {
  Gate gate;
  Counter counter;
  expect(0, gate.enqueue(stream));
  expect(0, counter.add(stream));
  std::vector<std::thread> waiters;
  for (int k = 0; k < 4; ++k) {
    waiters.emplace_back([&, k] {
      expect(0, aclrtSetDevice(0));
      expect(0, k % 2 == 0 ? aclrtSynchronizeStream(stream) : aclrtSynchronizeDevice());
      EXPECT_EQ(counter.value(), 1.0f);
      expect(0, aclrtResetDevice(0));
    });
  }
  gate.wait_until_reached();
  gate.open();
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
