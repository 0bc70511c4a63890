// Tests events: records, waits, queries in their three spellings, resets in stream order, and times.
#include <thread>
#include <vector>

#include "runtime/counter.h"
#include "runtime/gate.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

class EventTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    event = new_event();
  }
  void TearDown() override {
    if (event != nullptr) expect(0, aclrtDestroyEvent(event));
    RuntimeTest::TearDown();
  }
  // The three queries must agree.
  static bool is_complete(aclrtEvent which) {
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    auto recorded = static_cast<aclrtEventRecordedStatus>(77);
    aclrtEventWaitStatus wait = ACL_EVENT_WAIT_STATUS_RESERVED;
    expect(0, aclrtQueryEvent(which, &status));
    expect(0, aclrtQueryEventStatus(which, &recorded));
    expect(0, aclrtQueryEventWaitStatus(which, &wait));
    const bool complete = status == ACL_EVENT_STATUS_COMPLETE;
    EXPECT_EQ(status, complete ? 0 : 1);
    EXPECT_EQ(recorded, complete ? 1 : 0);  // the reverse
    EXPECT_EQ(wait, complete ? 0 : 1);
    return complete;
  }

  aclrtEvent event = nullptr;
};

TEST_F(EventTest, NeverRecordedIsComplete) {
  EXPECT_TRUE(is_complete(event));
  expect(0, aclrtSynchronizeEvent(event));
  expect(0, aclrtSynchronizeEventWithTimeout(event, 0));
  expect(0, aclrtStreamWaitEvent(stream, event));
  EXPECT_TRUE(is_idle(stream));
  expect(0, aclrtResetEvent(event, stream));
}

TEST_F(EventTest, CompletesWhenTheStreamGetsThere) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  EXPECT_FALSE(is_complete(event));
  expect(507047, aclrtSynchronizeEventWithTimeout(event, 0), {"timeout expired"});
  expect(507047, aclrtSynchronizeEventWithTimeout(event, 20));
  gate.open();
  expect(0, aclrtSynchronizeEventWithTimeout(event, -1));
  EXPECT_TRUE(is_complete(event));
  expect(0, aclrtSynchronizeEvent(event));
  expect(107000, aclrtSynchronizeEventWithTimeout(event, -2), {"timeout is -2"});
}

TEST_F(EventTest, SynchronizeDrivesTheStreamOnlyToTheMark) {
  Gate gate;
  Counter counter;
  expect(0, counter.add(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, gate.enqueue(stream));
  expect(0, aclrtSynchronizeEvent(event));
  EXPECT_EQ(counter.value(), 1.0f);
  EXPECT_FALSE(is_idle(stream));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
}

TEST_F(EventTest, MeansTheLatestRecord) {
  aclrtStream other = new_stream();
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  EXPECT_FALSE(is_complete(event));
  expect(0, aclrtRecordEvent(event, other));  // replaces the record that is held up
  expect(0, aclrtSynchronizeEvent(event));
  EXPECT_TRUE(is_complete(event));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtDestroyStream(other));
}

TEST_F(EventTest, WaitsCaptureTheRecord) {
  aclrtStream other = new_stream();
  Counter counter;
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(other, event));
  expect(0, counter.add(other));
  expect(0,
         aclrtRecordEvent(event, nullptr));  // later records, resets and the end of the event change nothing
  expect(0, aclrtResetEvent(event, nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  expect(0, aclrtDestroyEvent(event));
  event = nullptr;
  expect(507046, aclrtSynchronizeStreamWithTimeout(other, 20));
  EXPECT_EQ(counter.value(), 0.0f);
  gate.open();
  expect(0, aclrtSynchronizeStream(other));
  EXPECT_EQ(counter.value(), 1.0f);
  expect(0, aclrtDestroyStream(other));
}

TEST_F(EventTest, ResetsInStreamOrder) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtResetEvent(event, stream));
  EXPECT_FALSE(is_complete(event));  // the reset has not been reached
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  float ms = -1;
  expect(107006, aclrtEventElapsedTime(&ms, event, event), {"startEvent", "never recorded"});
  EXPECT_EQ(ms, -1.0f);
}

TEST_F(EventTest, AResetKeepsALaterRecord) {
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtResetEvent(event, stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtSynchronizeStream(stream));
  float ms = -1;
  expect(0, aclrtEventElapsedTime(&ms, event, event));
  EXPECT_EQ(ms, 0.0f);
}

TEST_F(EventTest, AResetMayOutliveItsEvent) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtResetEvent(event, stream));
  expect(0, aclrtDestroyEvent(event));
  event = new_event();  // may reuse the slot
  expect(0, aclrtRecordEvent(event, nullptr));
  gate.open();
  expect(0, aclrtSynchronizeDevice());
  float ms = -1;
  expect(0, aclrtEventElapsedTime(&ms, event, event));  // the newer event kept its record
}

TEST_F(EventTest, ElapsedTime) {
  aclrtEvent end = new_event();
  float ms = -1;
  expect(107006, aclrtEventElapsedTime(&ms, event, end), {"startEvent was never recorded"});
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(107006, aclrtEventElapsedTime(&ms, event, end), {"endEvent was never recorded"});
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(end, stream));
  expect(107006, aclrtEventElapsedTime(&ms, event, end), {"endEvent has not been reached yet"});
  EXPECT_EQ(ms, -1.0f);
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtEventElapsedTime(&ms, event, end));
  EXPECT_GT(ms, 0.0f);
  EXPECT_LT(ms, 600000.0f);
  expect(107007, aclrtEventElapsedTime(&ms, end, event), {"before startEvent"});
  expect(0, aclrtDestroyEvent(end));
}

TEST_F(EventTest, FlagsDecideWhetherTimesAreKept) {
  struct Case {
    uint32_t flag;
    bool timed;
  };
  for (const Case& c : {Case{0, true},
                        {ACL_EVENT_TIME_LINE, true},
                        {ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC, true},
                        {ACL_EVENT_SYNC, false},
                        {ACL_EVENT_CAPTURE_STREAM_PROGRESS, false},
                        {ACL_EVENT_DEVICE_USE_ONLY, false},
                        {ACL_EVENT_EXTERNAL, false},
                        {ACL_EVENT_IPC, false},
                        {0x80000000u, true},
                        {0x80000000u | ACL_EVENT_IPC, false},
                        {0xFFFFFFFFu, true}}) {
    for (auto* create : {aclrtCreateEventWithFlag, aclrtCreateEventExWithFlag}) {
      aclrtEvent flagged = nullptr;
      expect(0, create(&flagged, c.flag));
      expect(0, aclrtRecordEvent(flagged, stream));
      expect(0, aclrtSynchronizeEvent(flagged));
      float ms = -1;
      if (c.timed) {
        expect(0, aclrtEventElapsedTime(&ms, flagged, flagged));
      } else {
        expect(107006, aclrtEventElapsedTime(&ms, flagged, flagged),
               {"was created without ACL_EVENT_TIME_LINE"});
      }
      expect(0, aclrtDestroyEvent(flagged));
    }
  }
}

TEST_F(EventTest, ChainsAcrossStreams) {
  constexpr int kStreams = 20;
  constexpr int kRounds = 50;
  std::vector<aclrtStream> streams;
  for (int k = 0; k < kStreams; ++k) streams.push_back(new_stream());
  Counter counter;
  // One counter, updated by another stream each time: only the events keep the updates apart.
  float expected = 0;
  for (int k = 0; k < kRounds * kStreams; ++k) {
    const aclrtStream now = streams[static_cast<size_t>(k * 7 % kStreams)];
    expect(0, aclrtStreamWaitEvent(now, event));
    expect(0, counter.add(now, k % 2 == 0 ? 0 : -0.5));
    expected = k % 2 == 0 ? expected + 1 : expected + (1 - 0.5f * expected);
    expect(0, aclrtRecordEvent(event, now));
  }
  expect(0, aclrtSynchronizeEvent(event));
  EXPECT_NEAR(counter.value(), expected, 1e-4);
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
}

TEST_F(EventTest, ManyStreamsWaitForOneMark) {
  std::vector<aclrtStream> streams;
  Counter counters[16];
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  for (Counter& counter : counters) {
    streams.push_back(new_stream());
    expect(0, aclrtStreamWaitEvent(streams.back(), event));
    expect(0, counter.add(streams.back()));
  }
  for (aclrtStream s : streams) EXPECT_FALSE(is_idle(s));
  expect(0, aclrtDestroyStreamForce(streams[7]));  // leaves the middle of the list
  streams.erase(streams.begin() + 7);
  gate.open();
  expect(0, aclrtSynchronizeStreamWithTimeout(stream, 60000));
  for (aclrtStream s : streams) expect(0, aclrtSynchronizeStreamWithTimeout(s, 60000));
  for (int k = 0; k < 16; ++k) EXPECT_EQ(counters[k].value(), k == 7 ? 0.0f : 1.0f);
  for (aclrtStream s : streams) expect(0, aclrtDestroyStream(s));
}

TEST_F(EventTest, AStreamMayWaitForItsOwnPast) {
  Counter counter;
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtStreamWaitEvent(stream, event));
  expect(0, counter.add(stream));
  expect(0, aclrtStreamWaitEvent(stream, event));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 1.0f);
}

TEST_F(EventTest, SynchronizeFromAnotherThread) {
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  std::thread waiter([&] {
    float ms = 0;
    expect(107002, aclrtSynchronizeEvent(event), {"context"});
    expect(107002, aclrtEventElapsedTime(&ms, event, event));
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtSynchronizeEvent(event));
    EXPECT_TRUE(is_complete(event));
    expect(0, aclrtResetDevice(0));
  });
  gate.wait_until_reached();
  gate.open();
  waiter.join();
  expect(0, aclrtSynchronizeStream(stream));
}

}  // namespace
