// The floating-point state of every task: round to nearest, no flush to zero, exceptions masked. Linux
// threads inherit the state of their creator, so it is set around each chunk of work, and the caller's state
// is restored.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace openaclnn::cpu {

class ScopedFpEnvironment {
 public:
  ScopedFpEnvironment() : saved_(read()) { write(kDefault); }
  ~ScopedFpEnvironment() { write(saved_); }
  ScopedFpEnvironment(const ScopedFpEnvironment&) = delete;
  ScopedFpEnvironment& operator=(const ScopedFpEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kDefault = 0x1F80;  // MXCSR after reset
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t state) { _mm_setcsr(static_cast<unsigned>(state)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kDefault = 0;  // FPCR after reset
  static uint64_t read() {
    uint64_t state = 0;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#else
#error "openaclnn supports x86-64 and AArch64"
#endif

  const uint64_t saved_;
};

}  // namespace openaclnn::cpu
