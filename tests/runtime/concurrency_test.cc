// Runs many threads on all parts of the interface at once; most useful under thread sanitizer.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

constexpr int kThreads = 6;
constexpr int kRounds = kThreadSanitizer ? 100 : 2000;

class ConcurrencyTest : public RuntimeTest {
 protected:
  // Runs body(thread number) on kThreads threads at once, each with device 0 current.
  template <class Body>
  static void on_threads(const Body& body) {
    std::atomic<int> waiting{kThreads};
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k) {
      threads.emplace_back([&, k] {
        expect(0, aclrtSetDevice(0));
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        body(k);
        (void)aclGetRecentErrMsg();
        expect(0, aclrtResetDevice(0));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  // One of the accepted codes, and an error text exactly if it is a failure.
  static void expect_one_of(std::initializer_list<int> accepted, int code) {
    const char* text = aclGetRecentErrMsg();
    EXPECT_EQ(text != nullptr, code != 0);
    for (int candidate : accepted) {
      if (code == candidate) return;
    }
    ADD_FAILURE() << "unexpected code: " << (text != nullptr ? text : "0");
  }
};

TEST_F(ConcurrencyTest, EverythingAtOnceOnOwnObjects) {
  on_threads([](int k) {
    Counter counter(k % 2 == 0 ? 7 : 50000);
    for (int round = 1; round <= kRounds / 4; ++round) {
      aclrtStream first = new_stream(), second = new_stream();
      aclrtEvent event = new_event();
      void* block = nullptr;
      expect(0, aclrtMalloc(&block, 1000u * static_cast<unsigned>(k + 1), ACL_MEM_MALLOC_HUGE_FIRST));
      expect(0, counter.add(first));
      expect(0, aclrtRecordEvent(event, first));
      expect(0, aclrtStreamWaitEvent(second, event));
      expect(0, counter.add(second));
      expect(0, aclrtMemsetAsync(block, 1000, round, 1000, second));
      expect(0, aclrtFree(block));
      expect(0, aclrtResetEvent(event, second));
      expect(0, aclrtDestroyEvent(event));
      if (round % 2 == 0) expect(0, aclrtSynchronizeStreamWithTimeout(second, 60000));
      expect(0, aclrtDestroyStream(second));
      expect(0, aclrtDestroyStream(first));
      ASSERT_TRUE(counter.all_equal(static_cast<float>(2 * round)));
    }
  });
}

TEST_F(ConcurrencyTest, OneStreamFromAllThreads) {
  Counter counters[kThreads];
  on_threads([&](int k) {
    for (int round = 0; round < kRounds; ++round) {
      expect(0, counters[k].add(stream));
      if (round % 16 == k) expect(0, aclrtSynchronizeStream(stream));
    }
  });
  expect(0, aclrtSynchronizeStream(stream));
  for (const Counter& counter : counters) EXPECT_EQ(counter.value(), static_cast<float>(kRounds));
}

TEST_F(ConcurrencyTest, OneRepeatableExecutorFromAllThreads) {
  Counter counter;
  aclOpExecutor* executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round)
      expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
  });
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), static_cast<float>(kThreads * kRounds));
  expect(0, aclDestroyAclOpExecutor(executor));
}

TEST_F(ConcurrencyTest, OneOneShotRunsOnceWhoeverWins) {
  Counter counter;
  std::vector<aclOpExecutor*> executors;
  for (int k = 0; k < kRounds; ++k) executors.push_back(counter.planned());
  std::atomic<int> won{0};
  on_threads([&](int k) {
    for (aclOpExecutor* executor : executors) {
      const int code =
          k == 0 ? aclDestroyAclOpExecutor(executor) : aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream);
      expect_one_of({0, 561000}, code);
      if (code == 0 && k != 0) ++won;
    }
  });
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), static_cast<float>(won));
}

TEST_F(ConcurrencyTest, AddressUpdatesWhileItRuns) {
  Counter counters[2];
  aclOpExecutor* executor = counters[0].planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  on_threads([&](int k) {
    for (int round = 0; round < kRounds; ++round) {
      if (k % 2 == 0) {
        expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
      } else {
        expect(0, aclSetTensorAddr(executor, 1, counters[0].tensor(1), counters[round % 2].var()));
      }
    }
  });
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counters[0].value() + counters[1].value(), static_cast<float>(kThreads / 2 * kRounds));
  expect(0, aclDestroyAclOpExecutor(executor));
}

TEST_F(ConcurrencyTest, UseAgainstDestroy) {
  std::atomic<aclrtStream> shared_stream{new_stream()};
  std::atomic<aclrtEvent> shared_event{new_event()};
  // A byte for each task: tasks of different streams are not ordered.
  std::vector<char> bytes(static_cast<size_t>(kThreads * kRounds));
  on_threads([&](int k) {
    for (int round = 0; round < kRounds; ++round) {
      const aclrtStream s = shared_stream;
      const aclrtEvent e = shared_event;
      switch ((k + round) % 8) {
        case 0: expect_one_of({0, 107017}, aclrtRecordEvent(e, s)); break;
        case 1: expect_one_of({0, 107017}, aclrtStreamWaitEvent(s, e)); break;
        case 2: expect_one_of({0, 107017}, aclrtSynchronizeStream(s)); break;
        case 3: expect_one_of({0, 107017}, aclrtSynchronizeEvent(e)); break;
        case 4: {
          expect_one_of({0, 107017}, round % 2 == 0 ? aclrtDestroyStream(s) : aclrtDestroyStreamForce(s));
          aclrtStream replaced = s;
          aclrtStream fresh = new_stream();
          if (!shared_stream.compare_exchange_strong(replaced, fresh)) expect(0, aclrtDestroyStream(fresh));
          break;
        }
        case 5: {
          expect_one_of({0, 107017}, aclrtDestroyEvent(e));
          aclrtEvent replaced = e;
          aclrtEvent fresh = new_event();
          if (!shared_event.compare_exchange_strong(replaced, fresh)) expect(0, aclrtDestroyEvent(fresh));
          break;
        }
        case 6: expect_one_of({0, 107017}, aclrtResetEvent(e, s)); break;
        default: {
          char* byte = &bytes[static_cast<size_t>(k * kRounds + round)];
          const int code = aclrtMemsetAsync(byte, 1, 1, 1, s);
          expect_one_of({0, 107017}, code);
        }
      }
      if (round % 50 == 0) expect(0, aclrtSynchronizeDevice());
    }
    expect(0, aclrtSynchronizeDevice());  // before the bytes are destroyed
  });
  expect(0, aclrtDestroyStream(shared_stream));
  expect(0, aclrtDestroyEvent(shared_event));
}

TEST_F(ConcurrencyTest, DeviceAndContextCalls) {
  on_threads([](int k) {
    for (int round = 0; round < kRounds / 4; ++round) {
      expect(0, aclrtSetDevice(0));
      aclrtContext context = nullptr;
      expect(0, aclrtCreateContext(&context, 0));
      aclrtStream own = new_stream();
      Counter on_own, on_default;
      expect(0, on_own.add(own));
      expect(0, on_default.add(nullptr));
      expect(0, aclrtSynchronizeDevice());
      if (k % 2 == 0) expect(0, aclrtDestroyStream(own));
      expect(0, aclrtDestroyContext(context));
      expect_one_of({107002}, aclrtSynchronizeStream(nullptr));
      expect(0, aclrtSetDevice(0));
      expect(0, aclrtResetDevice(0));
      expect(0, aclrtResetDevice(0));
      (void)aclInit(nullptr);  // 0 or 100002
      (void)aclGetRecentErrMsg();
    }
  });
  expect(0, aclFinalize());
  stream = nullptr;
}

TEST_F(ConcurrencyTest, TimeoutsUnderBlockedWork) {
  aclrtStream behind = new_stream();
  aclrtEvent event = new_event();
  Counter counter;
  std::atomic<int> timeouts{0};
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(behind, event));
  expect(0, counter.add(behind));
  on_threads([&](int k) {
    for (int round = 0; round < kRounds / 50; ++round) {
      const int limit = (k + round) % 4;
      const auto start = std::chrono::steady_clock::now();
      switch (round % 4) {
        case 0: expect(507046, aclrtSynchronizeStreamWithTimeout(stream, limit)); break;
        case 1: expect(507046, aclrtSynchronizeStreamWithTimeout(behind, limit)); break;
        case 2: expect(507047, aclrtSynchronizeEventWithTimeout(event, limit)); break;
        default: expect(507046, aclrtSynchronizeDeviceWithTimeout(limit)); break;
      }
      const auto waited = std::chrono::steady_clock::now() - start;
      EXPECT_GE(waited, std::chrono::milliseconds(limit));
      EXPECT_LT(waited, std::chrono::seconds(30));
      ++timeouts;
      // Other threads continue.
      Counter own;
      expect(0, own.add(nullptr));
      expect(0, aclrtSynchronizeStream(nullptr));
      EXPECT_EQ(own.value(), 1.0f);
    }
  });
  EXPECT_EQ(counter.value(), 0.0f);
  gate.open();
  expect(0, aclrtSynchronizeStreamWithTimeout(behind, 60000));
  EXPECT_EQ(counter.value(), 1.0f);
  std::printf("figure timeouts %d\n", timeouts.load());
  expect(0, aclrtDestroyStream(behind));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(ConcurrencyTest, FaultsFromAllSides) {
  std::atomic<int> reported{0};
  on_threads([&](int) {
    aclrtStream own = new_stream();
    for (int round = 0; round < kRounds / 4; ++round) {
      Lookup bad({round, -1});
      expect(0, bad.enqueue(own));
      // The other threads' device-wide waits may take the report.
      const int code = round % 3 == 0 ? aclrtSynchronizeDevice() : aclrtSynchronizeStream(own);
      expect_one_of({0, 507035}, code);
      if (code != 0) ++reported;
      expect_one_of({0, 507035}, aclrtSynchronizeStream(own));  // finished with `bad`
    }
    expect(0, aclrtDestroyStream(own));
  });
  EXPECT_GT(reported, 0);
  (void)aclrtSynchronizeDevice();
}

TEST_F(ConcurrencyTest, MetaObjects) {
  aclTensor* shared = make_tensor({4}, ACL_FLOAT, nullptr);
  on_threads([&](int k) {
    for (int round = 0; round < kRounds; ++round) {
      void* address = nullptr;
      expect(0, aclSetRawTensorAddr(shared, &address));
      expect(0, aclGetRawTensorAddr(shared, &address));
      const int64_t dims[] = {k, round};
      expect(0, aclInitTensor(shared, dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 2, nullptr));
      int64_t* view = nullptr;
      uint64_t rank = 0;
      expect(0, aclGetViewShape(shared, &view, &rank));
      EXPECT_EQ(rank, 2u);
      delete[] view;
      aclTensor* own = make_tensor({1}, ACL_FLOAT, nullptr);
      aclTensorList* list = aclCreateTensorList(&own, 1);
      expect(0, aclDestroyTensorList(list));
      expect(161002, aclDestroyTensor(own));
    }
  });
  expect(0, aclDestroyTensor(shared));
}

TEST_F(ConcurrencyTest, BlocksOfAllThreads) {
  on_threads([](int k) {
    for (int round = 0; round < 2000; ++round) {
      void* blocks[8] = {};
      for (void*& block : blocks)
        expect(0, aclrtMalloc(&block, 64u * static_cast<unsigned>(k + 1), ACL_MEM_MALLOC_HUGE_FIRST));
      for (void* block : blocks) expect(0, aclrtFree(block));
    }
  });
}

TEST_F(ConcurrencyTest, FaultsAreTakenWhileOthersAreRecorded) {
  std::atomic<int> recording{kThreads / 2};
  std::vector<aclrtEvent> events;
  for (int pair = 0; pair < kThreads / 2; ++pair) events.push_back(new_event());
  on_threads([&](int k) {
    aclrtEvent event = events[static_cast<size_t>(k / 2)];
    if (k % 2 == 0) {
      aclrtStream own = new_stream();
      Lookup bad({-1});
      for (int round = 0; round < 2000; ++round) {
        for (int n = 0; n < 4; ++n) expect(0, bad.enqueue(own));
        expect(0, aclrtRecordEvent(event, own));
      }
      --recording;
      expect_one_of({0, 507035}, aclrtSynchronizeStream(own));
      expect(0, aclrtDestroyStream(own));
    } else {
      while (recording > 0) expect_one_of({0, 507035}, aclrtSynchronizeEvent(event));
    }
  });
  for (aclrtEvent event : events) expect(0, aclrtDestroyEvent(event));
}

}  // namespace
