// The CUDA halves of all operators, from ops.def: launch_<room>() puts the room's kernels on a stream. A room's cuda.cu defines it.
#pragma once

#include "cuda/launch.h"

namespace openaclnn::cuda {

#define OPENACLNN_OPERATOR(folder, name) cudaError_t launch_##folder(const void* plan, const LaunchIo& io);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

}  // namespace openaclnn::cuda
