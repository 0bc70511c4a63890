// Kernels that objects of nvcc bring along.
#pragma once

#include <memory>
#include <string>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

// The PTX in what nvcc puts into an object (`--no-compress`). Empty where there is none.
std::string find_ptx(const void* fat_binary);

}  // namespace openaclnn::ptx
