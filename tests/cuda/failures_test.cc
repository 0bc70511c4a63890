// Tests failures of every driver call: the library returns a code and an error message, nothing hangs, and
// possible work continues.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "cuda/fake_cuda.h"
#include "runtime/counter.h"
#include "runtime/failing_resources.h"
#include "runtime/lookup.h"
#include "support/paths.h"
#include "support/subprocess.h"

static bool is_child = false;
// A child loses objects that only the parent's threads pointed to: the leak sanitizer must not search
// there.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return is_child ? 1 : 0; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0:detect_deadlocks=0"; }

namespace {

using namespace cuda_test;
using namespace runtime_test;

// The codes that a call may return if a driver call fails. Each has an error message.
void accept(int code, bool& refused) {
  const char* const text = aclGetRecentErrMsg();
  if (code == 0) return;
  refused = true;
  EXPECT_TRUE(code == 207001 || code == 507000 || code == 361001) << code << ": " << text;
  ASSERT_NE(text, nullptr) << code;
  EXPECT_NE(std::string(text).find("[" + std::to_string(code)), std::string::npos) << text;
}

// A small program. Returns true if no driver call failed; then all results must be right.
bool run_program() {
  bool refused = false;
  aclrtStream stream = nullptr, other = nullptr;
  aclrtEvent event = nullptr;
  void *device = nullptr, *pinned = nullptr;
  Counter counter;
  Lookup lookup({1, 99});
  accept(aclrtSetDevice(0), refused);
  if (refused) return false;  // without a context every other call fails for another reason
  accept(aclrtCreateStream(&stream), refused);
  accept(aclrtCreateStream(&other), refused);
  accept(aclrtCreateEvent(&event), refused);
  accept(aclrtMalloc(&device, 5000, ACL_MEM_MALLOC_HUGE_FIRST), refused);
  accept(aclrtMallocHost(&pinned, 5000), refused);
  if (!refused) {
    accept(aclrtMemsetAsync(device, 5000, 4, 5000, stream), refused);
    accept(aclrtMemcpyAsync(pinned, 5000, device, 5000, ACL_MEMCPY_DEVICE_TO_HOST, stream), refused);
    accept(counter.add(stream), refused);
    accept(aclrtRecordEvent(event, stream), refused);
    accept(aclrtStreamWaitEvent(other, event), refused);
    if (!refused) accept(counter.add(other), refused);  // without the wait it would race
    const int code = lookup.enqueue(other);
    accept(code, refused);
    accept(aclrtSynchronizeStream(stream), refused);
    if (refused) {
      (void)aclrtSynchronizeStream(other);
      (void)aclGetRecentErrMsg();
    } else if (const int sync = aclrtSynchronizeStream(other); sync == 507035) {
      (void)aclGetRecentErrMsg();
      EXPECT_EQ(counter.value(), 2.0f);
      EXPECT_EQ(static_cast<const char*>(pinned)[4999], 4);
    } else {
      accept(sync, refused);
      EXPECT_TRUE(refused) << "the fault was lost";
      if (aclrtSynchronizeStream(other) != 0) (void)aclGetRecentErrMsg();
    }
  }
  if (device != nullptr) accept(aclrtFree(device), refused);
  if (pinned != nullptr) accept(aclrtFreeHost(pinned), refused);
  if (event != nullptr) accept(aclrtDestroyEvent(event), refused);
  if (other != nullptr) accept(aclrtDestroyStream(other), refused);
  if (stream != nullptr) accept(aclrtDestroyStream(stream), refused);
  accept(aclrtResetDevice(0), refused);
  return !refused;
}

class Failures : public testing::TestWithParam<cudaError_t> {};

TEST_P(Failures, OfAnyCallOfTheDriverLeaveAWorkingProcess) {
  fake("");
  ASSERT_TRUE(run_program());
  const unsigned long calls = fake("");
  ASSERT_GT(calls, 30ul);
  int refusals = 0;
  // Work that a program does not wait for happens in any order, so the number of calls differs from run to
  // run.
  for (unsigned long call = 1; call <= calls; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    fake(("fail=any:" + std::to_string(call) + ":" + std::to_string(GetParam())).c_str());
    refusals += run_program() ? 0 : 1;
    fake("");
    ASSERT_TRUE(run_program()) << "after a failure of the driver, the same does not work again";
  }
  EXPECT_GT(refusals, 15);
  std::printf("figure calls %lu\nfigure refusals %d\n", calls, refusals);
}

INSTANTIATE_TEST_SUITE_P(Errors, Failures,
                         testing::Values(cudaErrorMemoryAllocation, cudaErrorLaunchOutOfResources),
                         [](const auto& error) {
                           return std::string(error.param == 2 ? "Memory" : "Other");
                         });

// A stream brings the memory for the parameters of kernels, so that launches allocate nothing.
TEST(Streams, ThatLackMemoryAreRefused) {
  expect(0, aclrtSetDevice(0));
  int refusals = 0;
  for (long n = 0; n < 100; ++n) {
    aclrtStream stream = nullptr;
    fail_allocation_after(n);
    const int code = aclrtCreateStream(&stream);
    fail_allocation_after(-1);
    if (code == 0) {
      expect(0, aclrtDestroyStream(stream));
      if (failed_allocations() == 0) break;
      continue;
    }
    expect(207001, code, {"Failed to allocate"});
    ++refusals;
  }
  EXPECT_GT(refusals, 3);
  EXPECT_LT(refusals, 90);
}

// ---- parts that need their own process: see the tests below ----

// Every function that touches the device, and phase 2.
std::vector<std::pair<const char*, std::function<int()>>> all_calls(aclrtStream stream, aclrtEvent event,
                                                                    void* memory, Counter& counter,
                                                                    void* buffer) {
  return {
      {"aclrtCreateStream",
       [] {
         aclrtStream made = nullptr;
         return aclrtCreateStream(&made);
       }},
      {"aclrtCreateContext",
       [] {
         aclrtContext made = nullptr;
         return aclrtCreateContext(&made, 0);
       }},
      {"aclrtSynchronizeStream", [=] { return aclrtSynchronizeStream(stream); }},
      {"aclrtSynchronizeStreamWithTimeout", [=] { return aclrtSynchronizeStreamWithTimeout(stream, 10000); }},
      {"aclrtSynchronizeDevice", [] { return aclrtSynchronizeDevice(); }},
      {"aclrtStreamQuery",
       [=] {
         aclrtStreamStatus s;
         return aclrtStreamQuery(stream, &s);
       }},
      {"aclrtRecordEvent", [=] { return aclrtRecordEvent(event, stream); }},
      {"aclrtStreamWaitEvent", [=] { return aclrtStreamWaitEvent(stream, event); }},
      {"aclrtSynchronizeEvent", [=] { return aclrtSynchronizeEvent(event); }},
      {"aclrtQueryEvent",
       [=] {
         aclrtEventStatus s;
         return aclrtQueryEvent(event, &s);
       }},
      {"aclrtMalloc",
       [] {
         void* made = nullptr;
         return aclrtMalloc(&made, 64, ACL_MEM_MALLOC_HUGE_FIRST);
       }},
      {"aclrtMallocHost",
       [] {
         void* made = nullptr;
         return aclrtMallocHost(&made, 64);
       }},
      {"aclrtGetMemInfo",
       [] {
         size_t a, b;
         return aclrtGetMemInfo(ACL_HBM_MEM, &a, &b);
       }},
      {"aclrtMemcpy", [=] { return aclrtMemcpy(memory, 8, buffer, 8, ACL_MEMCPY_HOST_TO_DEVICE); }},
      {"aclrtMemset", [=] { return aclrtMemset(memory, 8, 0, 8); }},
      {"aclrtMemcpyAsync",
       [=] { return aclrtMemcpyAsync(memory, 8, buffer, 8, ACL_MEMCPY_DEFAULT, stream); }},
      {"aclrtMemsetAsync", [=] { return aclrtMemsetAsync(memory, 8, 0, 8, stream); }},
      {"phase 2", [=, &counter] { return counter.add(stream); }},
      {"aclrtFree", [=] { return aclrtFree(memory); }},
      {"aclrtDestroyStream", [=] { return aclrtDestroyStream(stream); }},
  };
}

void expect_refusals(const std::vector<std::pair<const char*, std::function<int()>>>& calls, int code,
                     std::initializer_list<std::string_view> parts) {
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    expect(code, call(), parts);
  }
}

class ProcessInProcess : public testing::Test {
 protected:
  void SetUp() override {
    alarm(100);  // a hang ends the process
    expect(0, aclInit(nullptr));
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
    expect(0, aclrtCreateEvent(&event));
    expect(0, aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  void* memory = nullptr;
  Counter counter;
  char buffer[8] = {};
};

class LostInProcess : public ProcessInProcess {};
PROCESS_TEST_F(LostInProcess, EveryLaterCallReturnsTheSameCode) {
  expect(0, aclrtRecordEvent(event, stream));
  fake("sticky=2 slow=1000");
  expect(0, counter.add(stream));
  expect(0, counter.add(stream));  // its kernel destroys the context
  const auto lost = {std::string_view("device 0 is lost"), std::string_view("cudaErrorIllegalAddress")};
  expect(507899, aclrtSynchronizeStream(stream), lost);
  expect_refusals(all_calls(stream, event, memory, counter, buffer), 507899, lost);
  expect(0, aclFinalize());
  expect(507899, aclrtSetDevice(0), lost);
}

// The other errors after which CUDA's reference requires the process to end.
class EndingInProcess : public ProcessInProcess {};
PROCESS_TEST_F(EndingInProcess, ErrorsOfTheDeviceLoseIt) {
  fake((std::string("fail=launch:1:") + std::getenv("ERROR")).c_str());
  expect(507899, counter.add(stream), {"device 0 is lost"});
  fake("");
  expect(507899, aclrtSynchronizeStream(stream), {"device 0 is lost"});
}

class PeersInProcess : public ProcessInProcess {};
PROCESS_TEST_F(PeersInProcess, ReachedTwiceLeaveTheProgramNoError) {
  for (int k = 0; k < 2; ++k) expect(0, aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(OPENACLNN_FAKE(cudaPeekAtLastError)(), cudaSuccess);
}

// The plugin may have been built with a version of CUB that was not compared with the reservation of phase
// 1.
TEST(Sorts, ThatNeedMoreScratchHaveTheirOwnMessage) {
  expect(0, aclrtSetDevice(0));
  Counter counter;
  fake(("fail=launch:1:" + std::to_string(cudaErrorApiFailureBase)).c_str());
  aclrtStream stream = nullptr;
  expect(0, aclrtCreateStream(&stream));
  expect(361001, counter.add(stream),
         {"a version of CUB whose sort needs more memory than phase 1 reserves"});
  fake("");
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtDestroyStream(stream));
}

// With OPENACLNN_TRACE: a failure is recorded and reported as without it.
class TracedInProcess : public ProcessInProcess {};
PROCESS_TEST_F(TracedInProcess, FailuresAreRecorded) {
  fake("fail=launch:1:701");
  expect(361001, counter.add(stream), {"cudaErrorLaunchOutOfResources"});
  fake("");
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclFinalize());
}

class ForkInProcess : public ProcessInProcess {};
PROCESS_TEST_F(ForkInProcess, IsRefusedInTheChild) {
  fake("slow=20000");
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, counter.add(stream));
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    is_child = true;
    alarm(60);
    const auto forked = {std::string_view("forked"), std::string_view("exec")};
    expect_refusals(all_calls(stream, event, memory, counter, buffer), 507899, forked);
    expect(507899, aclrtSetDevice(0), forked);
    uint32_t count = 0;
    expect(507899, aclrtGetDeviceCount(&count), forked);
    expect(0, aclFinalize());
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclFinalize());
}

// With OPENACLNN_ALLOCATOR=guard, for compute-sanitizer: blocks end at their exact size, and are unmapped
// when they are freed.
class GuardedInProcess : public ProcessInProcess {};
PROCESS_TEST_F(GuardedInProcess, BlocksAreNeitherRoundedNorKept) {
  const auto pinned_bytes = OPENACLNN_FAKE(openaclnn_fake_cuda_pinned_bytes);
  const size_t before = pinned_bytes();
  void* block = nullptr;
  expect(0, aclrtMallocHost(&block, 1001));
  EXPECT_EQ(pinned_bytes() - before, 1001u);
  expect(0, aclrtFreeHost(block));
  EXPECT_EQ(pinned_bytes(), before);
}

class ExitInProcess : public ProcessInProcess {};
PROCESS_TEST_F(ExitInProcess, WithQueuedWorkEnds) {
  fake("slow=20000");
  for (int k = 0; k < 5; ++k) expect(0, aclrtMemsetAsync(memory, 64, k, 64, stream));
}

// Suites in the environment of the fake, each in its own process.
void expect_suite(const std::string& name, std::map<std::string, std::string> more = {}) {
  more.insert({{"OPENACLNN_DEVICE", "cuda"}, {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin}});
  const openaclnn_test::ProcessResult result = openaclnn_test::run_suite(name, more);
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
}

TEST(Processes, ALostDeviceStaysLost) { expect_suite("Lost"); }
TEST(Processes, ErrorsThatEndAProcessLoseTheDevice) {
  for (const int error : {226, 700, 721, 810, 911})
    expect_suite("Ending", {{"ERROR", std::to_string(error)}});
}
TEST(Processes, PeersAreReachedTwice) { expect_suite("Peers", {{"OPENACLNN_FAKE_CUDA", "devices=2"}}); }
TEST(Processes, FailuresAreTraced) {
  const std::string path = testing::TempDir() + "openaclnn_trace_" + std::to_string(getpid()) + ".json";
  expect_suite("Traced", {{"OPENACLNN_TRACE", path}});
  std::ifstream file(path);
  const std::string trace{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(trace.find("361001"), std::string::npos) << trace;
  EXPECT_NE(trace.find("cudaErrorLaunchOutOfResources"), std::string::npos) << trace;
  std::remove(path.c_str());
}
TEST(Processes, AForkedChildIsRefused) { expect_suite("Fork"); }
TEST(Processes, GuardedBlocksAreExact) { expect_suite("Guarded", {{"OPENACLNN_ALLOCATOR", "guard"}}); }
TEST(Processes, ExitWithQueuedWork) { expect_suite("Exit"); }

}  // namespace
