// Fuzz target: operators on ordinary, extreme and hostile data, against the references of their rooms, in
// the mode of OPENACLNN_CHECK.
#include <cstdlib>

#include "fuzz/room_calls.h"
#include "support/verify.h"
#include "verify/runner.h"

using namespace openaclnn_test;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("OPENACLNN_NUM_THREADS", "1", 0);
  use_device();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Memory& memory = *new Memory;
  Input in(data, size);
  memory.reset();
  const MakeCall make = in.pick(kMakeCalls);
  run_and_compare(make({in, memory}), memory);
  return 0;
}
