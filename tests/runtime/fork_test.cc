// Tests fork(): the child works without the parent's threads, and the parent continues undisturbed.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "judge/scratch_folder.h"
#include "runtime/child_process.h"
#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"
#include "support/paths.h"

static bool is_child = false;
static std::atomic<int> children{0};

// fork() may hold more locks than the 64 that thread sanitizer's search for deadlocks can count.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0:detect_deadlocks=0"; }

// A child loses objects that only the parent's threads pointed to: the leak sanitizer must not search
// there.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return is_child ? 1 : 0; }

namespace {

using namespace runtime_test;

class ForkTest : public RuntimeTest {
 protected:
  static void TearDownTestSuite() { std::printf("figure children %d\n", children.load()); }
  // Runs body in a child, which must end in time without a failure. It exits normally, with all handlers.
  static void in_child(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    ++children;
    if (child == 0) {
      is_child = true;
      alarm(100);
      body();
      std::exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
  }
  static int forks() {
    const char* const text = std::getenv("OPENACLNN_TEST_FORKS");
    return text != nullptr ? std::atoi(text) : kThreadSanitizer ? 12 : 40;
  }
  // Calls of a child, on old and new objects.
  static void use_everything(aclrtStream old_stream) {
    Counter counter(100000);
    for (int k = 0; k < 10; ++k) expect(0, counter.add(old_stream));
    expect(0, aclrtSynchronizeStream(old_stream));
    EXPECT_TRUE(counter.all_equal(10));
    aclrtStream created = new_stream();
    aclrtEvent event = new_event();
    for (int k = 0; k < 10; ++k) expect(0, counter.add(created));
    expect(0, aclrtRecordEvent(event, created));
    expect(0, aclrtStreamWaitEvent(old_stream, event));
    expect(0, counter.add(old_stream));
    expect(0, aclrtResetEvent(event, old_stream));
    expect(0, aclrtSynchronizeStreamWithTimeout(old_stream, 30000));
    EXPECT_TRUE(counter.all_equal(21));
    Lookup bad({77});
    expect(0, bad.enqueue(created));
    expect(507035, aclrtSynchronizeDevice());
    void* block = nullptr;
    expect(0, aclrtMalloc(&block, 3 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    expect(0, aclrtMemset(block, 3 << 20, 5, 3 << 20));
    expect(0, aclrtFree(block));
    const auto once_more = [&] {
      expect(0, aclrtSetDevice(0));
      expect(0, counter.add(created));
      expect(0, aclrtSynchronizeStream(created));
    };
    if (kThreadSanitizer && is_child) {
      once_more();  // thread sanitizer still counts the parent's threads and refuses to have more with their addresses
    } else {
      std::thread(once_more).join();  // a child may have its own threads
    }
    EXPECT_TRUE(counter.all_equal(22));
    expect(0, aclrtDestroyEvent(event));
    expect(0, aclrtDestroyStream(created));
  }
};

TEST_F(ForkTest, TheChildOfAnIdleParentWorks) {
  in_child([&] { use_everything(stream); });
  use_everything(stream);
}

TEST_F(ForkTest, TasksQueuedBeforeTheForkRunInTheParentOnly) {
  aclrtEvent event = new_event();
  aclrtStream waiting = new_stream();
  Counter counter, behind;
  Gate gate;
  expect(0, gate.enqueue(stream));
  gate.wait_until_reached();
  for (int k = 0; k < 10; ++k) expect(0, counter.add(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(waiting, event));
  expect(0, behind.add(waiting));
  void* block = nullptr;
  expect(0, aclrtMalloc(&block, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(block));  // returned to the pool after the queued tasks
  in_child([&] {
    expect(0, aclrtSynchronizeStreamWithTimeout(stream, 30000));
    expect(0, aclrtSynchronizeEvent(event));
    expect(0, aclrtSynchronizeDevice());
    EXPECT_TRUE(is_idle(stream));
    EXPECT_EQ(counter.value(), 0.0f);
    EXPECT_EQ(behind.value(), 0.0f);
    use_everything(stream);
    use_everything(waiting);
    expect(0, aclInit(nullptr));
    expect(0, aclFinalize());
  });
  EXPECT_FALSE(is_idle(stream));
  gate.open();
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(counter.value(), 10.0f);
  EXPECT_EQ(behind.value(), 1.0f);
  expect(0, aclrtDestroyStream(waiting));
  expect(0, aclrtDestroyEvent(event));
}

TEST_F(ForkTest, GrandchildrenWork) {
  in_child([&] {
    use_everything(stream);
    in_child([&] { use_everything(stream); });
    use_everything(stream);
  });
}

TEST_F(ForkTest, ForkWhileOtherThreadsWork) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "address sanitizer's allocator keeps the locks of vanished threads in the child";
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int k = 0; k < 3; ++k) {
    busy.emplace_back([&, k] {
      expect(0, aclrtSetDevice(0));
      Counter counter(k == 0 ? 200000 : 10);
      int rounds = 0;
      while (!stop) {
        aclrtStream own = new_stream();
        aclrtEvent event = new_event();
        expect(0, counter.add(own));
        expect(0, aclrtRecordEvent(event, own));
        expect(0, aclrtStreamWaitEvent(nullptr, event));
        void* block = nullptr;
        expect(0, aclrtMalloc(&block, 100 + 7000u * static_cast<unsigned>(rounds % 200),
                              ACL_MEM_MALLOC_HUGE_FIRST));
        expect(0, aclrtFree(block));
        Lookup bad({-1});
        expect(0, bad.enqueue(own));
        expect(507035, aclrtSynchronizeStream(own));
        expect(0, aclrtDestroyStream(own));
        expect(0, aclrtDestroyEvent(event));
        ++rounds;
        // Exact up to 2^24: the counter is restarted long before.
        EXPECT_TRUE(counter.all_equal(static_cast<float>(rounds)));
      }
      expect(0, aclrtResetDevice(0));
    });
  }
  for (int k = 0; k < forks(); ++k) in_child([&] { use_everything(stream); });
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

// The child's dumps of acl.json go to a folder of its own.
TEST_F(ForkTest, TheChildDumpsIntoItsOwnFolder) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string config = scratch.path("acl.json");
  scratch.write("acl.json",
                R"({"dump": {"dump_op_switch": "on", "dump_path": ")" + scratch.path("dump") + "\"}}");
  expect(0, aclInit(config.c_str()));
  const auto dump_json = [&] {
    std::ifstream in(scratch.path("dump/step0/proc" + std::to_string(getpid()) + "/dump.json"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto use = [&] {
    Counter counter;
    aclTensor* tensor = counter.tensor(1);
    expect(0, counter.add(stream));
    expect(0, aclDumpOpTensors("Count", "", &tensor, 0, 1, stream));
    if (counter.value() != 1) ADD_FAILURE() << counter.value();
  };
  use();
  const std::string before = dump_json();
  in_child([&] {
    use();
    // The child counts its calls from 0.
    for (const char* key : {"Aten.ApplyFusedEmaAdam.0.forward", "Aten.Count.0.forward"}) {
      if (dump_json().find(key) == std::string::npos) ADD_FAILURE() << key << "\n" << dump_json();
    }
  });
  EXPECT_EQ(dump_json(), before);
  use();
  EXPECT_NE(dump_json().find("Aten.Count.1.forward"), std::string::npos);
  expect(0, aclFinalize());
  stream = nullptr;
}

// The child drops the parent's tasks, but not the files that they have written.
TEST_F(ForkTest, TheChildKeepsTheFilesOfACallThatRunsInTheParent) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string config = scratch.path("acl.json");
  scratch.write("acl.json", R"({"dump": {"dump_op_switch": "on", "dump_mode": "all", "dump_path": ")" +
                                scratch.path("dump") + "\"}}");
  expect(0, aclInit(config.c_str()));
  float weight[10] = {};
  int64_t index = 3;
  Gate before, gate;
  aclTensor* const table = make_tensor({10, 1}, ACL_FLOAT, weight);
  aclTensor* const indices = make_tensor({1}, ACL_INT64, &index);
  aclTensor* const out = make_tensor({1, 1}, ACL_FLOAT, gate.memory());
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  expect(0, before.enqueue(stream));  // this thread would run the task of an idle stream itself
  before.wait_until_reached();
  expect(0, aclnnEmbeddingGetWorkspaceSize(table, indices, out, &workspace_bytes, &executor));
  expect(0, aclnnEmbedding(nullptr, workspace_bytes, executor, stream));
  before.open();
  gate.wait_until_reached();
  in_child([] {});
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  const std::filesystem::path folder = scratch.path("dump/step0/proc" + std::to_string(getpid()));
  std::ifstream in(folder / "dump.json");
  const std::string json(std::istreambuf_iterator<char>(in), {});
  const auto files = std::distance(std::filesystem::directory_iterator(folder / "dump_tensor_data"), {});
  EXPECT_EQ(files, 3) << json;
  EXPECT_NE(json.find("Embedding.0.forward"), std::string::npos) << json;
  for (const aclTensor* tensor : {table, indices, out}) expect(0, aclDestroyTensor(tensor));
  expect(0, aclFinalize());
  stream = nullptr;
}

// Each of several threads forks while its own work is running; it is the only thread of its child.
TEST_F(ForkTest, EveryThreadForksWithBusyStreams) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "address sanitizer's allocator keeps the locks of vanished threads in the child";
  std::vector<std::thread> forking;
  for (int k = 0; k < 3; ++k) {
    forking.emplace_back([&] {
      expect(0, aclrtSetDevice(0));
      aclrtStream own = new_stream();
      Counter counter(200000);
      for (int round = 1; round <= forks() / 4; ++round) {
        for (int n = 0; n < 5; ++n) expect(0, counter.add(own));
        in_child([&] { use_everything(own); });
        expect(0, aclrtSynchronizeStream(own));
        EXPECT_TRUE(counter.all_equal(static_cast<float>(5 * round)));
      }
      expect(0, aclrtDestroyStream(own));
      expect(0, aclrtResetDevice(0));
    });
  }
  for (std::thread& thread : forking) thread.join();
}

// The library is used for the first time while another thread forks: the child must not wait for that
// thread's work.
TEST(ForkAtFirstUse, InTheMiddleOfIt) {
  if (kThreadSanitizer) GTEST_SKIP() << "thread sanitizer keeps locks of its own that vanished threads held";
  expect_success(run_program(test_paths::first_use_program, {"blocked"}, {{"OPENACLNN_CHECK", "unknown"}}));
  expect_success(run_program(test_paths::first_use_program, {"blocked"}, {{"OPENACLNN_LOG", "info"}}));
}

TEST(ForkAtFirstUse, AtAnyMomentOfIt) {
  if (kThreadSanitizer) GTEST_SKIP() << "thread sanitizer keeps locks of its own that vanished threads held";
  if (kAddressSanitizer)
    GTEST_SKIP() << "address sanitizer's allocator keeps the locks of vanished threads in the child";
  for (int delay = 0; delay < 400'000; delay += 4000) {
    const Finished finished = run_program(test_paths::first_use_program, {"race", std::to_string(delay)});
    expect_success(finished);
    if (finished.exit_code != 0) return;
  }
}

// In a process whose trace goes into a pipe that nobody reads: a thread blocks in the write, with the trace's lock. A
// forked child must not wait for it, even if it starts the library anew.
TEST(ForkOfATracedProcess, TheChildIsNotBlocked) {
  if (kThreadSanitizer) GTEST_SKIP() << "thread sanitizer keeps locks of its own that vanished threads held";
  if (kAddressSanitizer)
    GTEST_SKIP() << "address sanitizer's allocator keeps the locks of vanished threads in the child";
  if (std::getenv("OPENACLNN_TRACE") == nullptr) {
    const openaclnn_test::ScratchFolder scratch;
    const std::string pipe = scratch.path("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
    expect_success(run_program("/proc/self/exe", {"--gtest_filter=ForkOfATracedProcess.*"},
                               {{"OPENACLNN_TRACE", pipe}}));
    return;
  }
  ASSERT_GE(open(std::getenv("OPENACLNN_TRACE"), O_RDWR), 0);
  const auto call = [] {
    expect(0, aclrtSetDevice(0));
    Counter counter;
    expect(0, counter.add(nullptr));
    expect(0, aclrtSynchronizeStream(nullptr));
  };
  std::atomic<int> calls{0};
  std::thread([&] {
    for (;; ++calls) call();
  }).detach();
  int before = -1;
  do {  // until the pipe is full
    before = calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  } while (before == 0 || calls != before);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    (void)aclInit(nullptr);
    (void)aclFinalize();  // the next call finds out anew whether calls are traced
    (void)aclGetRecentErrMsg();
    call();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);  // the thread still waits for a reader
}

}  // namespace
