// The functions of CUDA's runtime that tests call directly: of the real runtime, or of the fake inside the
// plugin of tests.
#pragma once

#include <cuda_runtime.h>

#if defined(OPENACLNN_REAL_CUDA)
#define OPENACLNN_CUDA_API(function) function
#else
#include "cuda/fake_cuda.h"
#define OPENACLNN_CUDA_API(function) OPENACLNN_FAKE(function)
#endif
