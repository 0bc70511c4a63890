// Tests strict mode: phase 2 waits and returns a FAULT itself, nothing is written, and only known memory is
// accepted.
#include <cstring>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment strict("OPENACLNN_CHECK", "strict");

class FaultStrictTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    expect(0, aclrtMallocAlign32(&block, kFloats * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t k = 0; k < kFloats; ++k) floats()[k] = 1;
    expect(0, aclrtMalloc(&step_block, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    step() = 1;
  }
  void TearDown() override {
    expect(0, aclrtFree(block));
    expect(0, aclrtFree(step_block));
    RuntimeTest::TearDown();
  }
  float* floats() { return static_cast<float*>(block); }
  int64_t& step() { return *static_cast<int64_t*>(step_block); }

  // EmaAdam over five pieces of the block, 8 elements each; piece k of the signature at `data[k]`.
  int run(const std::vector<void*>& data, bool bias_correction = true) {
    std::vector<aclTensor*> t;
    for (size_t k = 0; k < 5; ++k) t.push_back(make_tensor({8}, ACL_FLOAT, data[k]));
    t.push_back(make_tensor({1}, ACL_INT64, data[5]));
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    expect(0, aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], -1, 0, 0, 0, 0, 1,
                                                     bias_correction, 0, &bytes, &executor));
    for (aclTensor* tensor : t) expect(0, aclDestroyTensor(tensor));
    return aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream);
  }
  std::vector<void*> pieces() {
    return {floats(), floats() + 8, floats() + 16, floats() + 24, floats() + 32, step_block};
  }

  static constexpr size_t kFloats = 40;
  void* block = nullptr;
  void* step_block = nullptr;
};

TEST_F(FaultStrictTest, Phase2WaitsAndReturnsItsOwnFault) {
  expect(0, run(pieces()));
  EXPECT_EQ(floats()[8], 2.0f);  // no synchronise was needed
  for (int64_t bad : {int64_t{0}, int64_t{-5}, INT64_MIN}) {
    step() = bad;
    const std::vector<float> before(floats(), floats() + kFloats);
    expect(507035, run(pieces()),
           {"aclnnApplyFusedEmaAdam: stream ", ": step is " + std::to_string(bad), "at least 1"});
    EXPECT_EQ(std::memcmp(floats(), before.data(), kFloats * sizeof(float)), 0);
    expect(0, aclrtSynchronizeStream(stream));  // it counts as reported
    expect(0, aclrtSynchronizeDevice());
  }
  expect(0, run(pieces(), /*bias_correction=*/false));  // step is not read
}

TEST_F(FaultStrictTest, OnlyKnownMemory) {
  const char* const names[] = {"grad", "varRef", "mRef", "vRef", "sRef", "step"};
  alignas(8) char foreign[64] = {};
  void* freed = nullptr;
  expect(0, aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(freed));
  for (size_t k = 0; k < 6; ++k) {
    for (void* address : {static_cast<void*>(foreign), freed}) {
      std::vector<void*> data = pieces();
      data[k] = address;
      expect(161002, run(data), {names[k], "where no live block of aclrtMalloc or aclrtMallocHost is"});
    }
  }
  std::vector<void*> data = pieces();
  data[4] = floats() + 33;  // its last element is beyond the block
  expect(161002, run(data), {"sRef needs 32 bytes", "but its block ends after 28"});
  data[4] = floats() - 1;
  expect(161002, run(data), {"sRef"});
  EXPECT_EQ(floats()[8], 1.0f);
  data = pieces();
  data[5] = nullptr;
  expect(0, run(data, false));  // a tensor that is not accessed needs no memory
  void* host = nullptr;
  expect(0, aclrtMallocHost(&host, 64));
  std::memset(host, 0, 64);
  data[0] = host;
  expect(0, run(data, false));
  expect(0, aclrtFreeHost(host));
}

// Checked only if `kind` says device: the host side of a copy is any memory of the program.
TEST_F(FaultStrictTest, DeviceSidesOfCopiesAndFillsToo) {
  char foreign[64] = {};
  expect(107000, aclrtMemcpy(foreign, 64, block, 64, ACL_MEMCPY_HOST_TO_DEVICE),
         {"dst (0x", "is not inside a live block"});
  expect(107000, aclrtMemcpy(block, 64, foreign, 64, ACL_MEMCPY_DEVICE_TO_HOST),
         {"src (0x", "is not inside a live block"});
  expect(107000, aclrtMemcpy(block, 32, foreign, 32, ACL_MEMCPY_DEVICE_TO_DEVICE), {"src (0x"});
  expect(107000, aclrtMemcpyAsync(foreign, 64, block, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), {"dst (0x"});
  expect(107000, aclrtMemset(foreign, 64, 0, 64), {"devPtr (0x", "is not inside a live block"});
  expect(107000, aclrtMemsetAsync(foreign, 64, 0, 64, stream));
  expect(0, aclrtMemcpy(block, 64, foreign, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  expect(0, aclrtMemcpy(foreign, 64, block, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  expect(0, aclrtMemcpyAsync(block, 64, foreign, 64, ACL_MEMCPY_DEFAULT, stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtMemset(block, 64, 0, 64));
}

}  // namespace
