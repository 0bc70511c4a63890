// A floating-point state that a caller may have left behind: flush to zero, and a rounding mode.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace openaclnn_test {

// Sets flush-to-zero, denormals-are-zero and rounding toward +infinity for the life of the object. intact() tells whether
// the library gave the state back.
class HostileFpState {
 public:
  HostileFpState() : saved_(read()) { write(saved_ | kHostile); }
  ~HostileFpState() { write(saved_); }
  HostileFpState(const HostileFpState&) = delete;
  HostileFpState& operator=(const HostileFpState&) = delete;

  bool intact() const { return (read() & kMask) == kHostile; }

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kHostile = 0x8000 | 0x0040 | 0x4000;  // FTZ, DAZ, round up
  static constexpr uint64_t kMask = 0x8000 | 0x0040 | 0x6000;
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#else
  static constexpr uint64_t kHostile = uint64_t{1} << 24 | uint64_t{1} << 22;  // FZ, round up
  static constexpr uint64_t kMask = uint64_t{1} << 24 | uint64_t{3} << 22;
  static uint64_t read() {
    uint64_t state = 0;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#endif

  const uint64_t saved_;
};

}  // namespace openaclnn_test
