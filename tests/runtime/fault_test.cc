// Tests FAULTs in report mode: recorded by a kernel, returned once, by the first call that waits for the
// task.
#include <algorithm>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

const SetEnvironment two_devices("OPENACLNN_CPU_DEVICES", "2");

class FaultTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    event = new_event();
  }
  void TearDown() override {
    expect(0, aclrtDestroyEvent(event));
    RuntimeTest::TearDown();
  }
  // The lines of the newest failure's text.
  static std::vector<std::string> taken_lines(int expected, int code) {
    EXPECT_EQ(code, expected);
    std::vector<std::string> lines;
    if (const char* text = aclGetRecentErrMsg()) {
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) lines.push_back(line);
    }
    return lines;
  }

  Lookup bad{{3, -7, 12, 4}};
  Lookup good{{1, 2}};
  aclrtEvent event = nullptr;
};

TEST_F(FaultTest, ReturnedOnceByTheNextSynchronize) {
  expect(0, bad.enqueue(stream));
  expect(507035, aclrtSynchronizeStream(stream),
         {"aclrtSynchronizeStream: aclnnEmbedding (stream ",
          ", task 1): indices[1] = -7 is outside [0, 10); ", "2 of 4"});
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(bad.out(), std::vector<float>({30, 0, 0, 40}));
}

TEST_F(FaultTest, TheStreamGoesOn) {
  expect(0, bad.enqueue(stream));
  expect(0, good.enqueue(stream));
  Counter counter;
  expect(0, counter.add(stream));
  expect(507035, aclrtSynchronizeStreamWithTimeout(stream, 60000), {"aclrtSynchronizeStreamWithTimeout: "});
  EXPECT_EQ(good.out(), std::vector<float>({10, 20}));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, good.enqueue(stream));
  expect(0, aclrtSynchronizeStream(stream));
}

TEST_F(FaultTest, OtherCallsDoNotReportIt) {
  expect(0, bad.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  do {
    expect(0, aclrtQueryEvent(event, &status));
  } while (status != ACL_EVENT_STATUS_COMPLETE);
  EXPECT_TRUE(is_idle(stream));
  expect(0, aclrtSynchronizeStream(nullptr));  // another stream
  aclrtStream other = new_stream();
  expect(0, aclrtStreamWaitEvent(other, event));
  expect(0, good.enqueue(other));
  expect(0, aclrtSynchronizeStream(other));
  expect(0, aclrtDestroyStream(other));
  char byte = 0;
  expect(0, aclrtMemcpy(&byte, 1, "x", 1, ACL_MEMCPY_DEFAULT));
  expect(507035, aclrtSynchronizeStream(stream));
}

TEST_F(FaultTest, LaterFaultsAreCounted) {
  expect(0, good.enqueue(stream));
  expect(0, bad.enqueue(stream));
  expect(0, bad.enqueue(stream));
  expect(507035, aclrtSynchronizeStream(stream), {", task 2): indices[1]", "; 1 further task faulted ["});
  for (int k = 0; k < 4; ++k) expect(0, bad.enqueue(stream));
  expect(507035, aclrtSynchronizeStream(stream), {", task 4): ", "; 3 further tasks faulted ["});
  expect(0, bad.enqueue(stream));
  const std::vector<std::string> lines = taken_lines(507035, aclrtSynchronizeStream(stream));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("further"), std::string::npos) << lines[0];
}

TEST_F(FaultTest, AnEventReportsWhatLiesBeforeIt) {
  aclrtEvent early = new_event();
  expect(0, aclrtRecordEvent(early, stream));
  expect(0, bad.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtSynchronizeEvent(early));  // recorded before the faulting task
  expect(507035, aclrtSynchronizeEvent(event), {"aclrtSynchronizeEvent: aclnnEmbedding", "task 1"});
  expect(0, aclrtSynchronizeEvent(event));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, bad.enqueue(stream));
  expect(0, aclrtSynchronizeEventWithTimeout(event, 60000));  // the new fault comes after it
  expect(0, aclrtRecordEvent(event, stream));
  expect(507035, aclrtSynchronizeEventWithTimeout(event, 60000), {"aclrtSynchronizeEventWithTimeout: "});
  expect(0, aclrtDestroyEvent(early));
}

TEST_F(FaultTest, TheDeviceReportsAllStreamsAscending) {
  std::vector<aclrtStream> streams = {new_stream(), new_stream(), new_stream()};
  Lookup lookups[3] = {Lookup({100}), Lookup({101}), Lookup({102})};
  for (int k : {2, 0, 1}) expect(0, lookups[k].enqueue(streams[static_cast<size_t>(k)]));
  const std::vector<std::string> lines = taken_lines(507035, aclrtSynchronizeDevice());
  ASSERT_EQ(lines.size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(lines[k].find("aclrtSynchronizeDevice: aclnnEmbedding (stream "), 0u) << lines[k];
    EXPECT_NE(lines[k].find("indices[0] = " + std::to_string(100 + k)), std::string::npos) << lines[k];
  }
  expect(0, aclrtSynchronizeDevice());
  for (aclrtStream s : streams) {
    expect(0, aclrtSynchronizeStream(s));
    expect(0, aclrtDestroyStream(s));
  }
}

TEST_F(FaultTest, ADestroyedStreamLeavesItsFaultToTheDevice) {
  for (auto* destroy : {aclrtDestroyStream, aclrtDestroyStreamForce}) {
    aclrtStream other = new_stream();
    expect(0, bad.enqueue(other));
    Gate gate;
    expect(0, gate.enqueue(other));
    gate.wait_until_reached();  // the faulting task has run
    gate.open();
    expect(0, destroy(other));
    expect(0, aclrtSynchronizeStream(stream));
    expect(507035, aclrtSynchronizeDeviceWithTimeout(60000),
           {"aclrtSynchronizeDeviceWithTimeout: aclnnEmbedding", "task 1"});
    expect(0, aclrtSynchronizeDevice());
  }
}

TEST_F(FaultTest, ADestroyedStreamLeavesItsFaultToItsOwnDevice) {
  expect(0, aclrtSetDevice(1));
  aclrtStream other = new_stream();
  expect(0, bad.enqueue(other));
  expect(0, aclrtDestroyStream(other));
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtSynchronizeDevice());
  expect(0, aclrtSetDevice(1));
  expect(507035, aclrtSynchronizeDevice(), {"aclnnEmbedding"});
  expect(0, aclrtResetDeviceForce(1));
}

// The device keeps 1024 faults of destroyed streams at once.
TEST_F(FaultTest, ReportedFaultsOfDestroyedStreamsAreForgotten) {
  for (int k = 0; k < 1025; ++k) {
    aclrtStream other = new_stream();
    expect(0, bad.enqueue(other));
    expect(0, aclrtDestroyStream(other));
    ASSERT_EQ(aclrtSynchronizeDevice(), 507035) << "stream " << k;
    (void)aclGetRecentErrMsg();
  }
}

TEST_F(FaultTest, ADestroyedEventLeavesItsFaultToTheStream) {
  expect(0, bad.enqueue(stream));
  aclrtEvent other = new_event();
  expect(0, aclrtRecordEvent(other, stream));
  expect(0, aclrtDestroyEvent(other));
  expect(507035, aclrtSynchronizeStream(stream));
}

TEST_F(FaultTest, AnExpiredWaitKeepsTheFault) {
  Gate gate;
  expect(0, bad.enqueue(stream));
  expect(0, gate.enqueue(stream));
  gate.wait_until_reached();
  expect(507046, aclrtSynchronizeStreamWithTimeout(stream, 0));
  expect(507046, aclrtSynchronizeDeviceWithTimeout(0));
  gate.open();
  expect(507035, aclrtSynchronizeStream(stream));
}

TEST_F(FaultTest, OneOfSeveralWaitersGetsIt) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, bad.enqueue(stream));
  std::vector<int> codes(8);
  std::vector<std::thread> waiters;
  for (int& code : codes) {
    waiters.emplace_back([&] {
      expect(0, aclrtSetDevice(0));
      code = aclrtSynchronizeStream(stream);
      EXPECT_EQ(aclGetRecentErrMsg() != nullptr, code != 0);
      expect(0, aclrtResetDevice(0));
    });
  }
  gate.wait_until_reached();
  gate.open();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 507035), 1);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 0), 7);
}

TEST_F(FaultTest, SetsTheLastError) {
  (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  expect(0, bad.enqueue(stream));
  expect(507035, aclrtSynchronizeStream(stream));
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 507035);
}

TEST_F(FaultTest, ResettingTheDeviceKeepsTheFaultForIt) {
  expect(0, bad.enqueue(nullptr));
  expect(0, aclrtResetDeviceForce(0));
  stream = nullptr;
  expect(0, aclrtSetDevice(0));
  expect(507035, aclrtSynchronizeDevice(), {"aclnnEmbedding"});
}

TEST_F(FaultTest, FinalizingForgetsIt) {
  expect(0, aclInit(nullptr));
  expect(0, bad.enqueue(stream));
  expect(0, aclFinalize());
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtSynchronizeDevice());
  stream = nullptr;  // released with the others
  event = new_event();
}

TEST_F(FaultTest, MoreFaultyStreamsThanLinesOfText) {
  std::vector<aclrtStream> streams;
  for (int k = 0; k < 30; ++k) {
    streams.push_back(new_stream());
    // They share one output, so they must run one after the other.
    expect(0, aclrtStreamWaitEvent(streams.back(), event));
    expect(0, bad.enqueue(streams.back()));
    expect(0, aclrtRecordEvent(event, streams.back()));
  }
  EXPECT_EQ(taken_lines(507035, aclrtSynchronizeDevice()).size(), 16u);
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
  expect(0, aclrtSynchronizeDevice());
}

}  // namespace
