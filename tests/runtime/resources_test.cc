// Tests lack of resources: threads that cannot be created, and every single allocation failing once.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "judge/scratch_folder.h"
#include "runtime/child_process.h"
#include "runtime/counter.h"
#include "runtime/failing_resources.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"
#include "support/subprocess.h"

namespace {

using namespace runtime_test;

// Rejections are also logged while no memory is left.
const SetEnvironment logged("OPENACLNN_LOG", "info");

class ResourcesTest : public RuntimeTest {
 protected:
  // Runs `call` with its first allocation failing, then the second, and so on until it succeeds without a
  // failure. Each failure must be one of the codes; `undo` reverts a success.
  void fail_each_allocation(
      const char* what, std::initializer_list<int> codes, const std::function<int()>& call,
      const std::function<void()>& undo = [] {}) {
    SCOPED_TRACE(what);
    for (long n = 0; n < 1000; ++n) {
      (void)aclGetRecentErrMsg();
      fail_allocation_after(n);
      const int code = call();
      fail_allocation_after(-1);
      if (code == 0) {
        undo();
        if (failed_allocations() == 0) return;  // it made fewer than n allocations
        continue;                               // it continued without that memory
      }
      EXPECT_GT(failed_allocations(), 0);
      EXPECT_NE(std::find(codes.begin(), codes.end(), code), codes.end()) << what << " returned " << code;
      const char* text = aclGetRecentErrMsg();
      ASSERT_NE(text, nullptr) << what;
      EXPECT_NE(std::string(text).find("Failed to allocate"), std::string::npos) << text;
      ++failed_calls;
    }
    ADD_FAILURE() << what << " never succeeded";
  }

  int failed_calls = 0;
};

// The memory for a thread's messages is allocated at its first failure, and may be the missing allocation.
TEST_F(ResourcesTest, TheFirstFailureOfAThreadHasAText) {
  long without_memory = 0;
  for (long n = 0; n < 10; ++n) {
    std::thread([&] {
      fail_allocation_after(n);
      const int code = aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST);
      const char* const text = aclGetRecentErrMsg();
      without_memory += failed_allocations();
      fail_allocation_after(-1);
      ASSERT_NE(text, nullptr) << "allocation " << n;
      const std::string whole = text;
      EXPECT_EQ(whole.find("aclrtMalloc: "), 0u) << whole;
      EXPECT_NE(whole.find(" [" + std::to_string(code) + " ACL_ERROR_"), std::string::npos) << whole;
      EXPECT_EQ(aclGetRecentErrMsg(), nullptr) << "it is given once";
    }).join();
  }
  EXPECT_GE(without_memory, 2) << "the message and the buffer both need memory";
}

// The newest of several failures without memory is reported. Once there is memory, it is listed with the
// others.
TEST_F(ResourcesTest, MessagesAreKeptWhenMemoryComesBack) {
  for (long n = 0; n < 5; ++n) {
    std::thread([n] {
      fail_allocation_after(n);  // of the error message, or of the buffer
      (void)aclrtFree(nullptr);
      fail_allocation_after(-1);
      (void)aclrtFreeHost(nullptr);
      const char* const text = aclGetRecentErrMsg();
      ASSERT_NE(text, nullptr);
      const std::string whole = text;
      EXPECT_EQ(whole.find("aclrtFreeHost: "), 0u) << whole;
      EXPECT_NE(whole.find("\naclrtFree: "), std::string::npos) << whole;
    }).join();
  }
}

TEST_F(ResourcesTest, EachAllocationFailsOnce) {
  Counter counter;
  float value = 1;
  const int64_t ints[] = {1, 2};
  void* made = nullptr;
  aclOpExecutor* executor = nullptr;
  // A failing create returns NULL.
  const auto creates = [&](auto create) {
    return [&made, create] { return (made = create()) == nullptr ? 561101 : 0; };
  };

  fail_each_allocation("aclCreateTensor", {561101}, creates([&] {
                         return aclCreateTensor(ints, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, ints, 2,
                                                &value);
                       }),
                       [&] { expect(0, aclDestroyTensor(static_cast<aclTensor*>(made))); });
  fail_each_allocation("aclCreateScalar", {561101},
                       creates([&] { return aclCreateScalar(&value, ACL_FLOAT); }),
                       [&] { expect(0, aclDestroyScalar(static_cast<aclScalar*>(made))); });
  fail_each_allocation("aclCreateIntArray", {561101}, creates([&] { return aclCreateIntArray(ints, 2); }),
                       [&] { expect(0, aclDestroyIntArray(static_cast<aclIntArray*>(made))); });
  const float floats[] = {1, 2};
  const bool bools[] = {true, false};
  fail_each_allocation("aclCreateFloatArray", {561101},
                       creates([&] { return aclCreateFloatArray(floats, 2); }),
                       [&] { expect(0, aclDestroyFloatArray(static_cast<aclFloatArray*>(made))); });
  fail_each_allocation("aclCreateBoolArray", {561101}, creates([&] { return aclCreateBoolArray(bools, 2); }),
                       [&] { expect(0, aclDestroyBoolArray(static_cast<aclBoolArray*>(made))); });
  fail_each_allocation("aclCreateScalarList", {561101},
                       creates([&] { return aclCreateScalarList(nullptr, 0); }),
                       [&] { expect(0, aclDestroyScalarList(static_cast<aclScalarList*>(made))); });
  fail_each_allocation("aclCreateTensorList", {561101},
                       creates([&] { return aclCreateTensorList(nullptr, 0); }),
                       [&] { expect(0, aclDestroyTensorList(static_cast<aclTensorList*>(made))); });
  fail_each_allocation("aclSetRawTensorAddr", {561101},
                       [&] { return aclSetRawTensorAddr(counter.tensor(1), counter.var()); });
  fail_each_allocation(
      "phase 1", {561101}, [&] { return counter.plan(&executor); },
      [&] { expect(0, aclDestroyAclOpExecutor(executor)); });
  executor = counter.planned();
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  fail_each_allocation("aclSetTensorAddr", {561101},
                       [&] { return aclSetTensorAddr(executor, 1, counter.tensor(1), counter.var()); });
  int runs = 0;
  fail_each_allocation(
      "phase 2", {361001}, [&] { return aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream); },
      [&] { ++runs; });
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), static_cast<float>(runs)) << "a refused task ran";

  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  aclrtContext context = nullptr;
  char bytes[64] = {};
  size_t free_bytes = 0;
  fail_each_allocation(
      "aclrtCreateStream", {207001}, [&] { return aclrtCreateStream(&other); },
      [&] { expect(0, aclrtDestroyStream(other)); });
  fail_each_allocation(
      "aclrtCreateEvent", {207001}, [&] { return aclrtCreateEvent(&event); },
      [&] { expect(0, aclrtDestroyEvent(event)); });
  event = new_event();
  fail_each_allocation("aclrtRecordEvent", {207001}, [&] { return aclrtRecordEvent(event, stream); });
  fail_each_allocation("aclrtStreamWaitEvent", {207001}, [&] { return aclrtStreamWaitEvent(stream, event); });
  fail_each_allocation("aclrtResetEvent", {207001}, [&] { return aclrtResetEvent(event, stream); });
  fail_each_allocation("aclrtSynchronizeStream", {207001}, [&] { return aclrtSynchronizeStream(stream); });
  fail_each_allocation("aclrtSynchronizeDevice", {207001}, [] { return aclrtSynchronizeDevice(); });
  fail_each_allocation("aclrtMemsetAsync", {207001},
                       [&] { return aclrtMemsetAsync(bytes, 64, 0, 64, stream); });
  fail_each_allocation("aclrtMemcpyAsync", {207001}, [&] {
    return aclrtMemcpyAsync(bytes, 32, bytes + 32, 32, ACL_MEMCPY_DEFAULT, stream);
  });
  expect(0, aclrtSynchronizeStream(stream));  // before `bytes` is reused, and before it is destroyed
  fail_each_allocation("aclrtMemcpy", {207001},
                       [&] { return aclrtMemcpy(bytes, 32, bytes + 32, 32, ACL_MEMCPY_DEFAULT); });
  fail_each_allocation("aclrtGetMemInfo", {207001},
                       [&] { return aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &free_bytes); });
  for (size_t size : {size_t{64}, size_t{100000}, size_t{3} << 20, size_t{9} << 20}) {
    fail_each_allocation(
        "aclrtMalloc", {207001}, [&] { return aclrtMalloc(&made, size, ACL_MEM_MALLOC_HUGE_FIRST); },
        [&] { expect(0, aclrtFree(made)); });
  }
  fail_each_allocation(
      "aclrtCreateContext", {207001}, [&] { return aclrtCreateContext(&context, 0); },
      [&] {
        expect(0, aclrtDestroyContext(context));
        expect(0, aclrtSetDevice(0));
        expect(0, aclrtResetDevice(0));
      });
  expect(0, aclrtDestroyEvent(event));
  expect(0, aclDestroyAclOpExecutor(executor));
  // Calls keep their memory for the next ones, except in sanitized builds: there every allocation fails
  // once.
  EXPECT_GT(failed_calls, kAddressSanitizer || kThreadSanitizer ? 60 : 50);
}

// With OPENACLNN_TRACE: a call that needs no memory succeeds, whatever the recorder lacks.
class TracedInProcess : public ResourcesTest {
 protected:
  void expect_success_without_memory() {
    Counter counter;
    aclOpExecutor* executor = counter.planned();
    expect(0, aclSetAclOpExecutorRepeatable(executor));
    const auto run = [&] { return aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream); };
    expect(0, run());
    fail_each_allocation("phase 2", {}, run, [&] { expect(0, aclrtSynchronizeStream(stream)); });
    expect(0, aclDestroyAclOpExecutor(executor));
  }
};
PROCESS_TEST_F(TracedInProcess, CallsDoNotFailWithTheRecorder) { expect_success_without_memory(); }

// With OPENACLNN_DUMP for another operator: each task asks whether it is to be dumped.
class DumpedInProcess : public TracedInProcess {};
PROCESS_TEST_F(DumpedInProcess, CallsDoNotFailWithTheRecorder) { expect_success_without_memory(); }

TEST(Recording, LacksMemoryQuietly) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "calls of sanitized builds keep no memory";
  openaclnn_test::ProcessResult result =
      openaclnn_test::run_suite("Traced", {{"OPENACLNN_TRACE", "/dev/null"}});
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
  // Longer than the strings that need no memory
  const openaclnn_test::ScratchFolder scratch;
  result = openaclnn_test::run_suite(
      "Dumped", {{"OPENACLNN_DUMP", scratch.path("dumps") + ":aclnnEmbeddingDenseBackward"}});
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
}

TEST_F(ResourcesTest, AFaultIsKeptWhenItsSentenceCannotBeMade) {
  Lookup bad({77});
  expect(0, bad.enqueue(stream));
  bool reported = false;
  for (long n = 0; n < 100 && !reported; ++n) {
    fail_allocation_after(n);
    const int code = aclrtSynchronizeStream(stream);
    fail_allocation_after(-1);
    (void)aclGetRecentErrMsg();
    if (code == 207001) continue;
    EXPECT_EQ(code, 507035);
    reported = true;
  }
  EXPECT_TRUE(reported);
  expect(0, aclrtSynchronizeStream(stream));
}

// Each fault is returned once, even if there is no memory for the message of one of them.
// A failed aclInit doesn't turn dumps on.
TEST_F(ResourcesTest, AFailedInitialisationTurnsNothingOn) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string dump = scratch.path("dump"), config = scratch.path("acl.json");
  scratch.write("acl.json", R"({"dump": {"dump_op_switch": "on", "dump_path": ")" + dump + "\"}}");
  long n = 0;
  for (int code = -1; code != 0; ++n) {
    ASSERT_LT(n, 1000);
    fail_allocation_after(n);
    code = aclInit(config.c_str());
    fail_allocation_after(-1);
    (void)aclGetRecentErrMsg();
    if (code == 0) break;
    Counter counter;
    aclTensor* tensor = counter.tensor(1);
    expect(0, aclDumpOpTensors("Count", "", &tensor, 0, 1, stream));
    EXPECT_FALSE(std::filesystem::exists(dump + "/step0")) << "allocation " << n;
  }
  EXPECT_GT(n, 1);
  expect(0, aclFinalize());
  expect(0, aclrtSetDevice(0));
  stream = new_stream();
}

TEST_F(ResourcesTest, FaultsOfSeveralStreamsAreAllReturned) {
  const aclrtStream other = new_stream();
  for (long n = 0; n < 60; ++n) {
    Lookup first({77}), second({88});
    expect(0, first.enqueue(stream));
    expect(0, second.enqueue(other));
    std::string said;
    int code = -1;
    for (int call = 0; call < 4 && code != 0; ++call) {
      fail_allocation_after(call == 0 ? n : -1);
      code = aclrtSynchronizeDevice();
      fail_allocation_after(-1);
      const char* const text = aclGetRecentErrMsg();
      if (text != nullptr) said += text;
    }
    EXPECT_EQ(code, 0);
    for (const char* fault : {"indices[0] = 77", "indices[0] = 88"})
      EXPECT_NE(said.find(fault), std::string::npos) << "allocation " << n << ": " << said;
  }
}

// In a separate process, where the call is the first one.
TEST(SocNameTest, NeedsNoMemory) {
  if (getenv("RESOURCES_TEST_CHILD") == nullptr) {
    for (const char* n : {"0", "1", "2", "5", "10", "50"}) {
      SCOPED_TRACE(n);
      expect_success(run_program("/proc/self/exe", {"--gtest_filter=SocNameTest.NeedsNoMemory"},
                                 {{"RESOURCES_TEST_CHILD", n}}));
    }
    return;
  }
  fail_allocation_after(std::atol(getenv("RESOURCES_TEST_CHILD")));
  const char* const name = aclrtGetSocName();
  fail_allocation_after(-1);
  EXPECT_STREQ(name, "Ascend910B1");
}

TEST_F(ResourcesTest, DestroyingAndFreeingNeedNoMemory) {
  aclrtStream other = new_stream();
  aclrtEvent event = new_event();
  aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
  void* small = nullptr;
  void* large = nullptr;
  expect(0, aclrtMalloc(&small, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMalloc(&large, 3 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  Counter counter;
  expect(0, counter.add(other));
  aclOpExecutor* executor = counter.planned();
  fail_allocation_after(0);
  const int codes[] = {aclDestroyAclOpExecutor(executor),
                       aclDestroyTensor(tensor),
                       aclrtDestroyEvent(event),
                       aclrtFree(small),
                       aclrtFree(large),
                       aclrtDestroyStream(other)};
  fail_allocation_after(-1);
  for (int code : codes) EXPECT_EQ(code, 0);
  EXPECT_EQ(counter.value(), 1.0f);
}

// In a separate process, where the pool has no worker yet: if none can be created, tasks run on the calling
// thread.
TEST(ThreadsTest, NoThreadCanBeCreated) {
  if (getenv("RESOURCES_TEST_CHILD") == nullptr) {
    const Finished finished =
        run_program("/proc/self/exe", {"--gtest_filter=ThreadsTest.NoThreadCanBeCreated"},
                    {{"RESOURCES_TEST_CHILD", "1"}, {"OPENACLNN_NUM_THREADS", "4"}});
    expect_success(finished);
    return;
  }
  alarm(100);
  refuse_threads(true);
  expect(0, aclrtSetDevice(0));
  aclrtStream stream = nullptr, other = nullptr;
  aclrtEvent event = nullptr;
  expect(0, aclrtCreateStream(&stream));
  expect(0, aclrtCreateStream(&other));
  expect(0, aclrtCreateEvent(&event));
  Counter counter(500000), behind(10);
  for (int k = 0; k < 5; ++k) expect(0, counter.add(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(other, event));
  expect(0, behind.add(other));
  expect(0, aclrtSynchronizeStreamWithTimeout(other, 30000));
  EXPECT_TRUE(counter.all_equal(5));
  EXPECT_TRUE(behind.all_equal(1));
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  EXPECT_EQ(std::distance(begin(tasks), end(tasks)), 1) << "there was a thread after all";
  // When the system has threads again, the library creates them, and tasks again run in parallel with the
  // caller.
  refuse_threads(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, 30000));
  EXPECT_TRUE(counter.all_equal(6));
  const auto now = std::filesystem::directory_iterator("/proc/self/task");
  ASSERT_GT(std::distance(begin(now), end(now)), 1)
      << "threads that were refused once were never asked for again";
  Gate gate;  // held by the test: phase 2 must return before the task ran
  expect(0, gate.enqueue(stream));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtDestroyStream(stream));
  expect(0, aclrtDestroyStream(other));
}

}  // namespace
