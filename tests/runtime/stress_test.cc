// Makes random calls of many threads on shared objects that any of them may destroy at any moment; most
// useful under thread sanitizer. OPENACLNN_TEST_SECONDS sets the duration, OPENACLNN_TEST_SEED the calls.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/counter.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"
#include "support/verify.h"
#include "verify/random.h"

namespace {

using namespace runtime_test;
using openaclnn_test::Random;

constexpr size_t kThreads = 6;
constexpr size_t kShared = 4;

constexpr int kNoContext = 107002, kStale = 107017, kOtherDevice = 107003, kFault = 507035;
constexpr int kStreamTimeout = 507046, kEventTimeout = 507047;

// Objects that any thread may use, replace and destroy.
struct Shared {
  std::array<std::atomic<aclrtStream>, kShared> streams = {};
  std::array<std::atomic<aclrtEvent>, kShared> events = {};
  std::array<std::atomic<aclrtContext>, kShared> contexts = {};
  std::array<std::atomic<aclTensor*>, kShared> tensors = {};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> calls{0};
};

// One thread: its own objects, and its choice of calls.
class Caller {
 public:
  Caller(Shared& shared, uint64_t seed) : shared_(shared), random_(seed) {}

  void run() {
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtGetCurrentContext(&home_));
    expect(0, aclrtCreateStream(&own_));
    while (!shared_.stop) {
      for (int k = 0; k < 16; ++k) call();
      own_work();
    }
    expect(0, aclrtSetCurrentContext(home_));
    expect(0, aclrtDestroyStream(own_));
    shared_.calls += calls_;
    expect(0, aclrtResetDevice(0));
  }

 private:
  template <class Handle>
  std::atomic<Handle>& any(std::array<std::atomic<Handle>, kShared>& slots) {
    return slots[static_cast<size_t>(random_.below(kShared))];
  }

  // One of the accepted codes, and an error text exactly if it is a failure. A thread that lost its context
  // sets one again.
  int check(int code, std::initializer_list<int> accepted) {
    ++calls_;
    const char* const text = aclGetRecentErrMsg();
    EXPECT_EQ(text != nullptr, code != 0);
    if (code == kNoContext) {
      EXPECT_EQ(aclrtSetCurrentContext(home_), 0);
      return code;
    }
    for (int candidate : accepted) {
      if (code == candidate) return code;
    }
    ADD_FAILURE() << "unexpected code " << code << ": " << (text != nullptr ? text : "");
    return code;
  }

  void call() {
    const aclrtStream stream = any(shared_.streams);
    const aclrtEvent event = any(shared_.events);
    switch (random_.below(20)) {
      case 0: return replace_stream();
      case 1: return replace_event();
      case 2: return replace_context();
      case 3: return replace_tensor();
      case 4: return void(check(aclrtRecordEvent(event, stream), {0, kStale, kOtherDevice}));
      case 5: return void(check(aclrtStreamWaitEvent(stream, event), {0, kStale, kOtherDevice}));
      case 6: return void(check(aclrtResetEvent(event, stream), {0, kStale, kOtherDevice}));
      case 7: return void(check(aclrtSynchronizeStream(stream), {0, kStale, kFault}));
      case 8: return void(check(aclrtSynchronizeEvent(event), {0, kStale, kFault}));
      case 9: return synchronize_in_time(stream, event);
      case 10: return query(stream, event);
      case 11: return void(check(aclrtSynchronizeDevice(), {0, kFault}));
      case 12:
      case 13:
      case 14: return copy(stream);
      case 15: return change_context();
      case 16: return change_device();
      default: return small_things();
    }
  }

  void replace_stream() {
    std::atomic<aclrtStream>& slot = any(shared_.streams);
    aclrtStream fresh = nullptr;
    if (check(aclrtCreateStream(&fresh), {0, kStale}) != 0) return;
    const aclrtStream old = slot.exchange(fresh);
    check(random_.chance(2) ? aclrtDestroyStream(old) : aclrtDestroyStreamForce(old), {0, kStale});
  }
  void replace_event() {
    aclrtEvent fresh = nullptr;
    const uint32_t flag = random_.chance(2) ? ACL_EVENT_TIME_LINE : ACL_EVENT_SYNC;
    if (check(aclrtCreateEventWithFlag(&fresh, flag), {0}) != 0) return;
    check(aclrtDestroyEvent(any(shared_.events).exchange(fresh)), {0, kStale});
  }
  void replace_context() {
    aclrtContext fresh = nullptr;
    check(aclrtCreateContext(&fresh, 0), {0});
    check(aclrtDestroyContext(any(shared_.contexts).exchange(fresh)), {0, kStale});
    check(aclrtSetCurrentContext(home_), {0});
  }
  void replace_tensor() {
    aclTensor* const fresh = make_tensor({2, 3}, ACL_FLOAT, &calls_);
    check(aclDestroyTensor(any(shared_.tensors).exchange(fresh)), {0, 161002});
  }
  void change_context() { check(aclrtSetCurrentContext(any(shared_.contexts)), {0, kStale}); }
  void change_device() {
    check(aclrtSetDevice(0), {0});
    check(aclrtResetDevice(0), {0});
  }
  void synchronize_in_time(aclrtStream stream, aclrtEvent event) {
    const auto limit = static_cast<int32_t>(random_.below(3));
    check(aclrtSynchronizeStreamWithTimeout(stream, limit), {0, kStale, kFault, kStreamTimeout});
    check(aclrtSynchronizeEventWithTimeout(event, limit), {0, kStale, kFault, kEventTimeout});
    check(aclrtSynchronizeDeviceWithTimeout(limit), {0, kFault, kStreamTimeout});
  }
  void query(aclrtStream stream, aclrtEvent event) {
    aclrtStreamStatus stream_status;
    check(aclrtStreamQuery(stream, &stream_status), {0, kStale});
    aclrtEventStatus event_status;
    check(aclrtQueryEvent(event, &event_status), {0, kStale});
    float milliseconds = 0;
    check(aclrtEventElapsedTime(&milliseconds, event, any(shared_.events)), {0, kStale, 107006, 107007});
  }
  // Into memory that is freed at once: tasks that are still queued must keep it for themselves.
  void copy(aclrtStream stream) {
    void* block = nullptr;
    const auto bytes = static_cast<size_t>(random_.between(1, 3000));
    if (check(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST), {0}) != 0) return;
    const std::vector<char> source(bytes, 'x');
    check(random_.chance(2)
              ? aclrtMemsetAsync(block, bytes, 1, bytes, stream)
              : aclrtMemcpyAsync(block, bytes, source.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream),
          {0, kStale, kOtherDevice});
    check(aclrtFree(block), {0});
  }
  void small_things() {
    size_t free = 0, total = 0;
    check(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), {0});
    check(aclrtSynchronizeStreamWithTimeout(nullptr, -2), {107000, 0});
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    if (check(aclGetViewShape(any(shared_.tensors), &dims, &rank), {0, 161002}) == 0) delete[] dims;
  }

  // Objects that no other thread uses keep their order and their results.
  void own_work() {
    const auto number = static_cast<float>(++rounds_);
    EXPECT_EQ(aclrtSetCurrentContext(home_), 0);
    EXPECT_EQ(small_.add(own_), 0);
    EXPECT_EQ(large_.add(own_), 0);
    if (rounds_ % 4 == 0) check(bad_.enqueue(own_), {0});
    check(aclrtSynchronizeStream(own_), {0, kFault});
    EXPECT_EQ(small_.value(), number);
    EXPECT_TRUE(large_.all_equal(number));
    calls_ += 4;
  }

  Shared& shared_;
  Random random_;
  aclrtContext home_ = nullptr;
  aclrtStream own_ = nullptr;
  uint64_t calls_ = 0;
  int rounds_ = 0;
  Counter small_, large_{30000};
  Lookup bad_{{3, 77}};
};

TEST(Stress, RandomCallsOnSharedObjects) {
  const char* const text = std::getenv("OPENACLNN_TEST_SECONDS");
  const double seconds = text != nullptr ? std::atof(text) : 1.0;
  Shared shared;
  expect(0, aclrtSetDevice(0));
  for (size_t k = 0; k < kShared; ++k) {
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    aclrtContext context = nullptr;
    expect(0, aclrtCreateStream(&stream));
    expect(0, aclrtCreateEvent(&event));
    expect(0, aclrtCreateContext(&context, 0));
    shared.streams[k] = stream;
    shared.events[k] = event;
    shared.contexts[k] = context;
    shared.tensors[k] = make_tensor({1}, ACL_INT8, nullptr);
  }
  std::vector<std::thread> threads;
  for (size_t k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] { Caller(shared, openaclnn_test::test_seed() + k).run(); });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  shared.stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("figure calls %llu\n", static_cast<unsigned long long>(shared.calls));
  EXPECT_GT(shared.calls, 1000u) << openaclnn_test::seed_text();
  for (aclTensor* tensor : shared.tensors) (void)aclDestroyTensor(tensor);
  for (aclrtContext context : shared.contexts) (void)aclrtDestroyContext(context);
  for (aclrtEvent event : shared.events) (void)aclrtDestroyEvent(event);
  (void)aclrtResetDeviceForce(0);
  (void)aclGetRecentErrMsg();
}

}  // namespace
