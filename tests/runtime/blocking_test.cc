// OPENACLNN_BLOCKING=1: phase 2 and asynchronous copies wait and return the task's own code.
#include <chrono>
#include <thread>

#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment blocking("OPENACLNN_BLOCKING", "1");
using BlockingTest = RuntimeTest;

TEST_F(BlockingTest, ResultsAreThereOnReturn) {
  Counter counter;
  char bytes[4] = {};
  for (int k = 1; k <= 100; ++k) {
    expect(0, counter.add(stream));
    ASSERT_EQ(counter.value(), static_cast<float>(k));
    expect(0, aclrtMemsetAsync(bytes, 4, k, 4, stream));
    ASSERT_EQ(bytes[3], static_cast<char>(k));
  }
}

TEST_F(BlockingTest, ReturnsTheFaultOnce) {
  Lookup bad({11});
  Lookup good({1});
  expect(507035, bad.enqueue(stream), {"aclnnEmbedding: stream ", ", task 1: indices[0] = 11"});
  expect(0, good.enqueue(stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(bad.out()[0], 0.0f);
}

// No call tells whether another thread has enqueued its task, so the test waits longer and longer for it.
TEST_F(BlockingTest, SaysThatItsTaskWasDropped) {
  int code = 0;
  for (auto time = std::chrono::milliseconds(5); code != 507035 && time < std::chrono::seconds(4);
       time *= 2) {
    aclrtStream other = nullptr;
    expect(0, aclrtCreateStream(&other));
    Gate gate;
    Counter counter;
    std::thread first([&] {
      expect(0, aclrtSetDevice(0));
      expect(0, gate.enqueue(other));
    });
    gate.wait_until_reached();
    std::thread second([&] {
      expect(0, aclrtSetDevice(0));
      code = counter.add(other);  // 0 or 107017 if it came too early or too late
      if (code == 507035) expect(507035, code, {"did not run", "aclrtDestroyStreamForce"});
      (void)aclGetRecentErrMsg();
    });
    std::this_thread::sleep_for(time);
    std::thread destroyer([&] { expect(0, aclrtDestroyStreamForce(other)); });
    std::this_thread::sleep_for(time);
    gate.open();
    for (std::thread* thread : {&first, &second, &destroyer}) thread->join();
    if (code == 507035) {
      EXPECT_EQ(counter.value(), 0.0f);
    }
  }
  EXPECT_EQ(code, 507035);
}

}  // namespace
