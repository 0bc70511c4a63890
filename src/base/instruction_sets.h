// The instruction sets that kernels are compiled for, one namespace each: see cmake/kernels.cmake.
#pragma once

#include <span>

namespace openaclnn {

enum class Isa { baseline, avx2, avx512 };

// The best instruction set that this CPU and operating system support.
Isa best_isa();

const char* isa_name(Isa isa);

// The instruction sets that kernels are compiled for, in ascending order.
std::span<const Isa> built_isas();

}  // namespace openaclnn
