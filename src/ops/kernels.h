// Declares the CPU kernels of all operators in ops.def: run_<room>() in the namespace of every instruction
// set. A room's cpu.cc defines its kernel, and registry.cc selects among them.
#pragma once

#include "base/kernel_io.h"

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
