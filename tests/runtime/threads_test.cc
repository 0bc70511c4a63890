// Tests parallel loops: every chunk once, from several callers at once and nested, and a separate range for
// each thread.
#include "cpu/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support/subprocess.h"

namespace openaclnn::cpu {
namespace {

const bool four_threads = (setenv("OPENACLNN_NUM_THREADS", "4", 0), true);

void expect_each_chunk_once(int64_t chunks) {
  std::vector<std::atomic<int>> calls(static_cast<size_t>(chunks));
  parallel_for(chunks, [&](int64_t chunk) { ++calls[static_cast<size_t>(chunk)]; });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

TEST(ParallelFor, CallsEachChunkOnce) {
  ASSERT_TRUE(four_threads);
  for (int round = 0; round < 200; ++round) {
    for (int64_t chunks : {0, 1, 2, 3, 4, 5, 7, 16, 17, 100}) expect_each_chunk_once(chunks);
  }
}

TEST(ParallelFor, MayBeCalledByManyThreadsAndNested) {
  std::vector<std::thread> callers;
  for (int k = 0; k < 6; ++k) {
    callers.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        parallel_for(5, [](int64_t) { expect_each_chunk_once(6); });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// Helpers see the caller's writes, and the caller sees theirs: thread sanitizer watches.
TEST(ParallelFor, OrdersPlainMemory) {
  std::vector<int> values(1000, 1);
  for (int round = 0; round < 500; ++round) {
    parallel_for(8, [&](int64_t chunk) {
      const Range range = chunk_range(1000, 8, chunk, 1);
      for (int64_t i = range.begin; i < range.end; ++i) values[static_cast<size_t>(i)] += 1;
    });
    for (int& value : values) value += 1;
  }
  EXPECT_EQ(values, std::vector<int>(1000, 1001));
}

// The caller finishes first and sees the helper leave without meeting it at a lock; only the order matters
// here.
TEST(ParallelFor, OrdersWhatALateHelperWrote) {
  ASSERT_GT(num_threads(), 1);
  const std::thread::id caller = std::this_thread::get_id();
  int written = 0;
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> helped{false};
    parallel_for(2, [&](int64_t) {
      if (std::this_thread::get_id() == caller) {
        while (!helped.load(std::memory_order_relaxed)) std::this_thread::yield();
      } else {
        helped.store(true, std::memory_order_relaxed);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        ++written;
      }
    });
    EXPECT_GT(written, round);
  }
}

// Workers that had no work for longer than they search for it come back.
TEST(ParallelFor, WorksAfterAPause) {
  ASSERT_GT(num_threads(), 1);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> inside{0};
    std::atomic<bool> together{false};
    // The caller stays in its first chunk until a helper is in another one, so this ends only if a helper
    // comes.
    parallel_for(2, [&](int64_t) {
      ++inside;
      while (inside < 2 && !together) std::this_thread::yield();
      together = true;
    });
    EXPECT_TRUE(together);
  }
}

// In a process whose threads get stacks of 16 KiB, which don't suffice for every kernel.
PROCESS_TEST(SmallDefaultStacks, WorkersHaveMore) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, size_t{16} << 10), 0);
  ASSERT_EQ(pthread_setattr_default_np(&small), 0);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<size_t> stack_bytes{0};
  parallel_for(2, [&](int64_t) {
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (std::this_thread::get_id() == caller) {
      while (stack_bytes == 0) std::this_thread::yield();
    } else if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      (void)pthread_attr_getstacksize(&attributes, &bytes);
      pthread_attr_destroy(&attributes);
      stack_bytes = bytes;
    }
  });
  EXPECT_GE(stack_bytes, size_t{64} << 10);
}

TEST(Workers, HaveEnoughStackForKernels) {
  openaclnn_test::expect_suite_passes("SmallDefaultStacks", {{"OPENACLNN_NUM_THREADS", "4"}});
}

TEST(Chunks, GiveEachThreadTheSameNumber) {
  for (int64_t kib = 1; kib < 4096; kib += 7) {
    const int64_t chunks = chunks_for(kib * 1024);
    EXPECT_GE(chunks, 1);
    EXPECT_LE(chunks, 4 * num_threads());
    if (chunks > num_threads()) {
      EXPECT_EQ(chunks % num_threads(), 0);
    }
  }
}

}  // namespace
}  // namespace openaclnn::cpu
