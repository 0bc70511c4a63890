// Declares the CUDA halves of all operators in ops.def. launch_<room>(), defined in the room's cuda.cu,
// launches its kernels.
#pragma once

#include "cuda/launch.h"

namespace openaclnn::cuda {

#define OPENACLNN_OPERATOR(folder, name) cudaError_t launch_##folder(const void* plan, const LaunchIo& io);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

}  // namespace openaclnn::cuda
