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

TEST_F(BlockingTest, SaysThatItsTaskWasDropped) {
  aclrtStream other = nullptr;
  expect(0, aclrtCreateStream(&other));
  Gate gate;
  std::thread first([&] {
    expect(0, aclrtSetDevice(0));
    expect(0, gate.enqueue(other));
  });
  gate.wait_until_reached();
  Counter counter;
  std::thread second([&] {
    expect(0, aclrtSetDevice(0));
    expect(507035, counter.add(other), {"did not run", "aclrtDestroyStreamForce"});
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::thread destroyer([&] { expect(0, aclrtDestroyStreamForce(other)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gate.open();
  for (std::thread* thread : {&first, &second, &destroyer}) thread->join();
  EXPECT_EQ(counter.value(), 0.0f);
}

}  // namespace
