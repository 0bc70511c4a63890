// Tests silent mode: the same checks and outputs, no record and no code.
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment silent("OPENACLNN_CHECK", "silent");
using FaultSilentTest = RuntimeTest;

TEST_F(FaultSilentTest, SameOutputsNoCode) {
  Lookup bad({3, -7, INT64_MAX, 4});
  aclrtEvent event = new_event();
  expect(0, bad.enqueue(stream));
  expect(0, aclrtRecordEvent(event, stream));
  expect(0, aclrtSynchronizeEvent(event));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(bad.out(), std::vector<float>({30, 0, 0, 40}));
  expect(0, aclrtDestroyEvent(event));
}

}  // namespace
