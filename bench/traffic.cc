// Selects the reference kernels of this process: the best instruction set of the machine, capped by
// OPENACLNN_ISA as in the library.
#include "traffic.h"

#include <cstdlib>
#include <string_view>

#include "arithmetic.h"

#define DECLARE_KERNELS_OF(isa)          \
  namespace openaclnn_bench::isa {       \
  const TrafficKernels& kernels();       \
  const ArithmeticKernels& arithmetic(); \
  }
DECLARE_KERNELS_OF(isa_baseline)
#if defined(__x86_64__)
DECLARE_KERNELS_OF(isa_avx2)
DECLARE_KERNELS_OF(isa_avx512)
#endif

namespace openaclnn_bench {

namespace {

struct Kernels {
  const TrafficKernels& traffic;
  const ArithmeticKernels& arithmetic;
};

Kernels choose() {
#if defined(__x86_64__)
  const char* const variable = std::getenv("OPENACLNN_ISA");
  const std::string_view cap = variable != nullptr ? variable : "";
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  const bool has_avx512 = __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  if (has_avx512 && cap != "avx2" && cap != "scalar")
    return {isa_avx512::kernels(), isa_avx512::arithmetic()};
  if (has_avx2 && cap != "scalar") return {isa_avx2::kernels(), isa_avx2::arithmetic()};
#endif
  return {isa_baseline::kernels(), isa_baseline::arithmetic()};
}

}  // namespace

const TrafficKernels& traffic_kernels() { return choose().traffic; }
const ArithmeticKernels& arithmetic_kernels() { return choose().arithmetic; }

}  // namespace openaclnn_bench
