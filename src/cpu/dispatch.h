// Run-time dispatch: selects among copies of a kernel that are compiled for different instruction sets.
#pragma once

#include <span>

namespace openaclnn::cpu {

enum class Isa { baseline, avx2, avx512 };

// The best instruction set that this CPU and operating system support.
Isa best_isa();

// The same, limited by OPENACLNN_ISA.
Isa active_isa();

const char* isa_name(Isa isa);

// The instruction sets that kernels are compiled for, in ascending order.
std::span<const Isa> built_isas();

}  // namespace openaclnn::cpu
