// The part of CUDA's runtime header that kernels need, over the emulation of the device language.
#pragma once

#include "cuda/simt/device_language.h"

using cudaStream_t = struct CUstream_st*;
enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9 };
