// Run-time choice among the copies of a kernel that were compiled for different instruction sets.
#pragma once

#include <span>

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
