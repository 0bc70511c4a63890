// Selects the instruction set of this process, and how its kernels read memory.
#include "cpu/dispatch.h"

#include <algorithm>
#include <atomic>

#include "base/env.h"

namespace openaclnn::cpu {

namespace {

Isa cap() {
  switch (environment().isa) {
    case IsaCap::scalar: return Isa::baseline;
    case IsaCap::avx2: return Isa::avx2;
    default: return Isa::avx512;  // names of other architectures set no limit here
  }
}

bool is_from_intel() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

}  // namespace

Isa active_isa() {
  // All threads compute the same value, so none waits for another: see base/first_use.h.
  static std::atomic<int> known{-1};
  if (const int isa = known.load(std::memory_order_relaxed); isa >= 0) return static_cast<Isa>(isa);
  const Isa isa = std::min(best_isa(), cap());
  known.store(static_cast<int>(isa), std::memory_order_relaxed);
  return isa;
}

bool reads_several_streams() {
  const RowStreams wanted = environment().row_streams;
  return wanted == RowStreams::several || (wanted == RowStreams::automatic && is_from_intel());
}

}  // namespace openaclnn::cpu
