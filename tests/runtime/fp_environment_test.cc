// Tests the caller's floating-point state: it does not affect results, and it is restored.
#include <cstring>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using FpEnvironmentTest = RuntimeTest;

#if defined(__x86_64__)
using State = unsigned;
State read_state() { return _mm_getcsr() & ~0x3Fu; }  // without the sticky flags
void write_state(State state) { _mm_setcsr(state); }
constexpr State kNormal = 0x1F80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
constexpr State kUp = 0x4000, kDown = 0x2000, kTowardZero = 0x6000;
const std::vector<State> kStates = {kNormal,
                                    kNormal | kFlushToZero | kDenormalsAreZero,
                                    kNormal | kUp,
                                    kNormal | kDown,
                                    kNormal | kTowardZero,
                                    kNormal | kUp | kFlushToZero | kDenormalsAreZero};
#elif defined(__aarch64__)
using State = uint64_t;
State read_state() {
  State state = 0;
  asm volatile("mrs %0, fpcr" : "=r"(state));
  return state;
}
void write_state(State state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
constexpr State kNormal = 0, kFlushToZero = State{1} << 24;
const std::vector<State> kStates = {kNormal,        kFlushToZero,   State{1} << 22,
                                    State{2} << 22, State{3} << 22, kFlushToZero | State{1} << 22};
#endif

// The bits of var, m, v and s after two steps on values that round and underflow.
std::vector<float> results(aclrtStream stream, int64_t count) {
  std::vector<std::vector<float>> data(5, std::vector<float>(static_cast<size_t>(count)));
  for (size_t k = 0; k < 5; ++k) {
    for (size_t i = 0; i < data[k].size(); ++i) {
      uint32_t bits = static_cast<uint32_t>((i + 1) * 2654435761u * (k + 1));
      // Subnormals and numbers near 1.
      bits = i % 3 == 0 ? bits & 0x00FFFFFF : (bits & 0x007FFFFF) | 0x3F000000;
      if (k != 3 && i % 2 == 0) bits |= 0x80000000;
      std::memcpy(&data[k][i], &bits, 4);
    }
  }
  int64_t step = 3;
  std::vector<aclTensor*> t;
  for (std::vector<float>& values : data) t.push_back(make_tensor({count}, ACL_FLOAT, values.data()));
  t.push_back(make_tensor({1}, ACL_INT64, &step));
  for (int repeat = 0; repeat < 2; ++repeat) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    expect(0, aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], 1e-3, 0.9999, 0.9,
                                                     0.999, 1e-8, 0, true, 0.1, &bytes, &executor));
    expect(0, aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream));
  }
  expect(0, aclrtSynchronizeStream(stream));
  for (aclTensor* tensor : t) expect(0, aclDestroyTensor(tensor));
  std::vector<float> joined;
  for (size_t k = 1; k < 5; ++k) joined.insert(joined.end(), data[k].begin(), data[k].end());
  return joined;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_F(FpEnvironmentTest, TheCallersStateChangesNoBitAndStays) {
  for (int64_t count : {int64_t{37}, int64_t{300000}}) {  // on the calling thread, and spread over workers
    const std::vector<float> expected = results(stream, count);
    for (State state : kStates) {
      // New threads, including workers started from here, inherit the state.
      write_state(state);
      const std::vector<float> here = results(stream, count);
      const State after = read_state();
      std::vector<float> elsewhere;
      std::thread([&] {
        expect(0, aclrtSetDevice(0));
        elsewhere = results(nullptr, count);
        expect(0, aclrtResetDevice(0));
        EXPECT_EQ(read_state(), state);
      }).join();
      write_state(kNormal);
      EXPECT_EQ(after, state);
      EXPECT_TRUE(same_bits(here, expected)) << "state " << std::hex << state;
      EXPECT_TRUE(same_bits(elsewhere, expected)) << "state " << std::hex << state;
    }
  }
}

TEST_F(FpEnvironmentTest, TheInputsWouldShowTheDifference) {
  // Without this, inputs that never round or underflow would always pass the test above.
  const volatile float tiny = 1e-39f, one = 1.0f, little = 0x1p-30f;
  write_state(kStates.back());
  const volatile float flushed = tiny * 0.5f;
  const volatile float up = one + little;
  write_state(kNormal);
  const volatile float kept = tiny * 0.5f;
  const volatile float nearest = one + little;
  EXPECT_NE(kept, flushed);
  EXPECT_NE(nearest, up);
}

TEST_F(FpEnvironmentTest, HostHelpersDoNotDependOnIt) {
  for (State state : kStates) {
    write_state(state);
    const int narrow = aclFloatToFloat16(2049.0f);
    const int tiny = aclFloatToFloat16(3 * 0x1p-26f);
    const float wide = aclFloat16ToFloat(1);
    write_state(kNormal);
    EXPECT_EQ(narrow, 0x6800);
    EXPECT_EQ(tiny, 1);
    EXPECT_EQ(wide, 0x1p-24f);
  }
}

}  // namespace
