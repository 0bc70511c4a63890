// Finds the kernels in objects of nvcc.
#pragma once

#include <string>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

// Returns the PTX in the data that nvcc puts into an object (`--no-compress`), or an empty text.
std::string find_ptx(const void* fat_binary);

}  // namespace openaclnn::ptx
