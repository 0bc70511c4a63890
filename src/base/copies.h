// Functions outside of the library that are compiled once per instruction set: chooses the copy for this processor.
#pragma once

#include <cstddef>

#include "base/instruction_sets.h"

namespace openaclnn {

// The copies of a function in the namespaces of cmake/kernels.cmake. Each name is a function of the namespace.
#if defined(__x86_64__)
#define OPENACLNN_COPIES(function) \
  { isa_baseline::function, isa_avx2::function, isa_avx512::function }
#else
#define OPENACLNN_COPIES(function) \
  { isa_baseline::function }
#endif

// Returns the copy for the best instruction set of this processor.
template <class Function, size_t count>
Function* best_copy(Function* const (&copies)[count]) {
  return copies[static_cast<size_t>(best_isa())];
}

}  // namespace openaclnn
