// The table of operators(), and the selection among the copies of a kernel.
#include "ops/registry.h"

#include "base/kernel_io.h"
#include "cpu/dispatch.h"

// The kernels of all rooms, run_<room>() in the namespace of every instruction set. A room's cpu.cc defines its kernel without a
// declaration: one that differs does not link.
#define OPENACLNN_OPERATOR(room, name) Fault run_##room(const void* plan, const TaskIo& io);

namespace openaclnn::isa_baseline {
#include "ops/ops.def"
}  // namespace openaclnn::isa_baseline

#if defined(__x86_64__)
namespace openaclnn::isa_avx2 {
#include "ops/ops.def"
}  // namespace openaclnn::isa_avx2

namespace openaclnn::isa_avx512 {
#include "ops/ops.def"
}  // namespace openaclnn::isa_avx512
#endif

#undef OPENACLNN_OPERATOR

namespace openaclnn {

namespace {

const Operator* const kOperators[] = {
#define OPENACLNN_OPERATOR(folder, name) &folder##_operator(),
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
};

}  // namespace

std::span<const Operator* const> operators() { return kOperators; }

#if defined(__x86_64__)
#define OPENACLNN_OPERATOR(folder, name)                      \
  RunFunction folder##_kernel() {                             \
    switch (cpu::active_isa()) {                              \
      case cpu::Isa::avx512: return isa_avx512::run_##folder; \
      case cpu::Isa::avx2: return isa_avx2::run_##folder;     \
      default: return isa_baseline::run_##folder;             \
    }                                                         \
  }
#else
#define OPENACLNN_OPERATOR(folder, name) \
  RunFunction folder##_kernel() { return isa_baseline::run_##folder; }
#endif
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

}  // namespace openaclnn
