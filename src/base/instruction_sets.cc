// Asks the processor. Also compiled into programs that have kernels of their own.
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/instruction_sets.h"

namespace openaclnn {

#if defined(__x86_64__)
// __builtin_cpu_supports also checks that the operating system saves the wide registers.
Isa best_isa() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  const bool has_avx2 = has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  return has_avx512 ? Isa::avx512 : has_avx2 ? Isa::avx2 : Isa::baseline;
}
#else
Isa best_isa() { return Isa::baseline; }  // NEON
#endif

const char* isa_name(Isa isa) {
#if defined(__x86_64__)
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "scalar";
#else
  return isa == Isa::baseline ? "neon" : "unknown";
#endif
}

std::span<const Isa> built_isas() {
#if defined(__x86_64__)
  static constexpr Isa kBuilt[] = {Isa::baseline, Isa::avx2, Isa::avx512};
#else
  static constexpr Isa kBuilt[] = {Isa::baseline};
#endif
  return kBuilt;
}

}  // namespace openaclnn
