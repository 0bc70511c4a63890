// Run-time choice among the copies of a kernel that were compiled for different instruction sets.
#pragma once

#include <span>

#include "runtime/device.h"

namespace openaclnn::cpu {

enum class Isa { baseline, avx2, avx512 };

// The best one that this CPU and operating system have.
Isa best_isa();

// The best instruction set that this CPU and operating system have, capped by OPENACLNN_ISA.
Isa active_isa();

const char* isa_name(Isa isa);

// The instruction sets that kernels were compiled for, from the lowest on.
std::span<const Isa> built_isas();

}  // namespace openaclnn::cpu

// Declares `RunFunction`-shaped kernel `name` in every instruction set's namespace, and name_kernel(), which picks one.
#define OPENACLNN_DECLARE_KERNEL_IN(isa, name)    \
  namespace openaclnn::isa {                      \
  Fault name(const void* plan, const TaskIo& io); \
  }
#if defined(__x86_64__)
#define OPENACLNN_DECLARE_KERNEL(name)                \
  OPENACLNN_DECLARE_KERNEL_IN(isa_baseline, name)     \
  OPENACLNN_DECLARE_KERNEL_IN(isa_avx2, name)         \
  OPENACLNN_DECLARE_KERNEL_IN(isa_avx512, name)       \
  namespace openaclnn {                               \
  inline RunFunction name##_kernel() {                \
    switch (cpu::active_isa()) {                      \
      case cpu::Isa::avx512: return isa_avx512::name; \
      case cpu::Isa::avx2: return isa_avx2::name;     \
      default: return isa_baseline::name;             \
    }                                                 \
  }                                                   \
  }
#else
#define OPENACLNN_DECLARE_KERNEL(name)                              \
  OPENACLNN_DECLARE_KERNEL_IN(isa_baseline, name)                   \
  namespace openaclnn {                                             \
  inline RunFunction name##_kernel() { return isa_baseline::name; } \
  }
#endif
