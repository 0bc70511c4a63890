// Floating-point states that a caller may have set: flush to zero, and rounding modes.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace openaclnn_test {

#if defined(__x86_64__)
inline constexpr uint64_t kFlush = 0x8000 | 0x0040;  // FTZ, DAZ
inline constexpr uint64_t kUp = 0x4000, kDown = 0x2000, kTowardZero = 0x6000;
#else
inline constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ
inline constexpr uint64_t kUp = uint64_t{1} << 22, kDown = uint64_t{2} << 22, kTowardZero = uint64_t{3} << 22;
#endif

struct CallerState {
  const char* name;
  uint64_t bits;  // added to the ordinary state
};
inline constexpr CallerState kCallerStates[] = {{"plain", 0},      {"flush, up", kFlush | kUp},
                                                {"flush", kFlush}, {"up", kUp},
                                                {"down", kDown},   {"toward zero", kTowardZero}};

// Sets such a state for the life of the object. intact() returns whether the library restored it.
class ScopedCallerState {
 public:
  explicit ScopedCallerState(const CallerState& state) : saved_(read()), bits_(state.bits) {
    write((saved_ & ~kMask) | bits_);
  }
  ~ScopedCallerState() { write(saved_); }
  ScopedCallerState(const ScopedCallerState&) = delete;
  ScopedCallerState& operator=(const ScopedCallerState&) = delete;

  bool intact() const { return (read() & kMask) == bits_; }

 private:
  static constexpr uint64_t kMask = kFlush | kTowardZero;
#if defined(__x86_64__)
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#else
  static uint64_t read() {
    uint64_t state = 0;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#endif

  const uint64_t saved_;
  const uint64_t bits_;
};

}  // namespace openaclnn_test
