// Tests pthread_cancel: a thread that is cancelled inside the library ends after the call, never in it, and
// other threads continue.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"
#include "support/subprocess.h"

namespace {

using namespace runtime_test;

// A thread that makes one call and then reaches its own cancellation point.
class CancelledThread {
 public:
  explicit CancelledThread(std::function<int()> call) : call_(std::move(call)) {
    if (pthread_create(&thread_, nullptr, run, this) != 0) std::abort();
  }

  void cancel() { (void)pthread_cancel(thread_); }
  bool has_called() const { return code_ != kNotYet; }
  // Joins; returns the result of the call.
  int code_of_cancelled() {
    void* ended = nullptr;
    EXPECT_EQ(pthread_join(thread_, &ended), 0);
    EXPECT_EQ(ended, PTHREAD_CANCELED) << "the cancellation was lost";
    return code_;
  }

 private:
  static constexpr int kNotYet = -1;

  static void* run(void* self) {
    auto& me = *static_cast<CancelledThread*>(self);
    int before = 0;
    me.code_ = me.call_();
    (void)aclGetRecentErrMsg();
    // The caller's state is restored: cancellation is possible again.
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    if (before != PTHREAD_CANCEL_ENABLE) me.code_ = -2;
    for (int k = 0; k < 60000; ++k) usleep(1000);  // a minute of cancellation points
    return nullptr;
  }

  std::function<int()> call_;
  std::atomic<int> code_{kNotYet};
  pthread_t thread_;
};

class CancellationTest : public RuntimeTest {
 protected:
  // Cancels a thread while it waits in `wait` for the gate; then opens the gate.
  void cancel_in(const char* what, const std::function<int()>& wait, int expected = 0) {
    SCOPED_TRACE(what);
    Gate gate;
    expect(0, gate.enqueue(stream));
    gate.wait_until_reached();
    CancelledThread waiting([&]() -> int {
      if (const int code = aclrtSetDevice(0); code != 0) return code;
      return wait();
    });
    // Long enough for the thread to be inside; a thread that has not arrived yet must behave alike.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(waiting.has_called()) << "it did not wait";
    waiting.cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
    EXPECT_EQ(waiting.code_of_cancelled(), expected);
    // Everything still works, for this thread and on the same stream.
    expect(0, counter.add(stream));
    expect(0, aclrtSynchronizeStream(stream));
    expect(0, aclrtSynchronizeDevice());
    expect(0, aclrtResetDevice(0));  // the reference that the thread took
  }

  Counter counter;
};

TEST_F(CancellationTest, WaitsForAStream) {
  cancel_in("aclrtSynchronizeStream", [this] { return aclrtSynchronizeStream(stream); });
  cancel_in("aclrtSynchronizeStreamWithTimeout",
            [this] { return aclrtSynchronizeStreamWithTimeout(stream, 60000); });
  EXPECT_EQ(counter.value(), 2.0f);
}

TEST_F(CancellationTest, WaitsForTheDevice) {
  cancel_in("aclrtSynchronizeDevice", [] { return aclrtSynchronizeDevice(); });
  cancel_in("aclrtSynchronizeDeviceWithTimeout", [] { return aclrtSynchronizeDeviceWithTimeout(60000); });
}

TEST_F(CancellationTest, WaitsForAnEvent) {
  aclrtEvent event = new_event();
  const auto record_and = [&](auto wait) {
    return [=, this]() -> int {
      if (const int code = aclrtRecordEvent(event, stream); code != 0) return code;
      return wait(event);
    };
  };
  cancel_in("aclrtSynchronizeEvent", record_and([](aclrtEvent e) { return aclrtSynchronizeEvent(e); }));
  cancel_in("aclrtSynchronizeEventWithTimeout",
            record_and([](aclrtEvent e) { return aclrtSynchronizeEventWithTimeout(e, 60000); }));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(CancellationTest, DestroyingAStreamWaitsForItsTasks) {
  aclrtStream other = new_stream();
  aclrtEvent event = new_event();
  cancel_in("aclrtDestroyStream", [&]() -> int {
    if (const int code = aclrtRecordEvent(event, stream); code != 0) return code;
    if (const int code = aclrtStreamWaitEvent(other, event); code != 0) return code;
    return aclrtDestroyStream(other);
  });
  expect(0, aclrtDestroyEvent(event));
}

// Loops that are shared with other threads end with a wait for them.
TEST_F(CancellationTest, SharedLoops) {
  std::vector<char> bytes(size_t{8} << 20);
  for (int round = 0; round < 20; ++round) {
    CancelledThread copying([&]() -> int {
      if (const int code = aclrtSetDevice(0); code != 0) return code;
      for (int k = 0; k < 20; ++k) {
        if (const int code = aclrtMemset(bytes.data(), bytes.size(), k, bytes.size()); code != 0) return code;
      }
      return 0;
    });
    copying.cancel();
    EXPECT_EQ(copying.code_of_cancelled(), 0);
    expect(0, aclrtResetDevice(0));
  }
  EXPECT_EQ(bytes.back(), 19);
}

// Every call below has a pending cancellation: an unprotected cancellation point of the library ends the
// process.
int call_everything(const std::string& config) {
  std::vector<int> codes;
  const auto note = [&](int code) {
    codes.push_back(code);
    (void)aclGetRecentErrMsg();
  };
  (void)aclrtGetSocName();  // the first use reads the environment and reports an unknown setting
  note(aclInit(config.c_str()));
  note(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  note(aclrtCreateStream(&stream));
  note(aclrtCreateEvent(&event));
  size_t free_bytes = 0, total_bytes = 0;
  note(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  void *block = nullptr, *huge = nullptr;
  constexpr size_t kBytes = size_t{8} << 20;
  note(aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  (void)aclrtMalloc(&huge, size_t{1} << 50,
                    ACL_MEM_MALLOC_HUGE_FIRST);  // fails with an error message about free memory
  (void)aclGetRecentErrMsg();
  for (int k = 0; k < 30; ++k) {
    // Different halves: the stream may still fill its half.
    note(aclrtMemset(block, kBytes / 2, k, kBytes / 2));
    note(aclrtMemsetAsync(static_cast<char*>(block) + kBytes / 2, kBytes / 2, k, kBytes / 2, stream));
  }
  Counter counter(100000);
  for (int k = 0; k < 5; ++k) note(counter.add(stream));
  aclTensor* tensor = counter.tensor(1);
  note(aclDumpOpTensors("Count", "", &tensor, 0, 1, stream));
  note(aclrtRecordEvent(event, stream));
  note(aclrtSynchronizeEvent(event));
  Lookup bad({11});
  const int fault = bad.enqueue(stream);  // a dump is written
  const int later = aclrtSynchronizeStream(stream);
  for (const int code : {fault, later}) note(code == 507035 ? 0 : code);
  uint64_t length = 0;
  note(openaclnnDescribe(nullptr, 0, &length));
  note(aclrtSynchronizeDevice());
  note(aclrtFree(block));
  note(aclrtDestroyEvent(event));
  note(aclrtDestroyStream(stream));
  note(aclrtResetDevice(0));
  note(aclFinalize());
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return 0;
}

// In a separate process, so that everything is used for the first time.
PROCESS_TEST(CancellationPoints, Pending) {
  const std::string folder = std::getenv("CANCELLATION_TEST_FOLDER");
  std::ofstream(folder + "/config.json")
      << R"({"dump": {"dump_op_switch": "on", "dump_mode": "all", "dump_path": ")" << folder
      << "/tensors\"}}";
  CancelledThread thread([&] {
    (void)pthread_cancel(pthread_self());
    return call_everything(folder + "/config.json");
  });
  EXPECT_EQ(thread.code_of_cancelled(), 0);
}

TEST(CancellationPoints, NoneIsOpen) {
  std::string folder = (std::filesystem::temp_directory_path() / "cancel-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::map<std::string, std::string> settings[] = {
      {{"OPENACLNN_NUM_THREADS", "3"}},
      {{"OPENACLNN_NUM_THREADS", "1"}, {"OPENACLNN_LOG", "debug"}, {"OPENACLNN_DEVICE", "neither"}},
      {{"OPENACLNN_BLOCKING", "1"},
       {"OPENACLNN_TRACE", folder + "/trace.json"},
       {"OPENACLNN_DUMP", folder + ":all"}},
      {{"OPENACLNN_CHECK", "silent"}, {"OPENACLNN_ALLOCATOR", "guard"}, {"OPENACLNN_LOG", "info"}},
      {{"OPENACLNN_DEVICE", "cpu"}, {"OPENACLNN_TRACE", "/dev/full"}, {"OPENACLNN_DUMP", "/proc/no"}}};
  for (std::map<std::string, std::string> environment : settings) {
    environment["CANCELLATION_TEST_FOLDER"] = folder;
    const openaclnn_test::ProcessResult result = openaclnn_test::run_suite("CancellationPoints", environment);
    EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
  }
  std::filesystem::remove_all(folder);
}

// With OPENACLNN_BLOCKING=1: phase 2 waits for its task. The task waits for the gate, which a third thread
// holds.
PROCESS_TEST(BlockingPhase2, IsCancelled) {
  expect(0, aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  expect(0, aclrtCreateStream(&stream));
  Counter counter;
  Gate gate;
  std::thread at_the_gate([&] {
    expect(0, aclrtSetDevice(0));
    expect(0, gate.enqueue(stream));
  });
  gate.wait_until_reached();
  CancelledThread adding([&]() -> int {
    if (const int code = aclrtSetDevice(0); code != 0) return code;
    return counter.add(stream);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(adding.has_called()) << "it did not wait";
  adding.cancel();
  gate.open();
  EXPECT_EQ(adding.code_of_cancelled(), 0);
  at_the_gate.join();
  expect(0, counter.add(stream));
  EXPECT_EQ(counter.value(), 2.0f);
  expect(0, aclrtDestroyStream(stream));
}

TEST(BlockingPhase2, IsCancelled) {
  const openaclnn_test::ProcessResult result = openaclnn_test::run_suite(
      "BlockingPhase2", {{"OPENACLNN_BLOCKING", "1"}, {"OPENACLNN_NUM_THREADS", "2"}});
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
}

}  // namespace
