// What an operator's CUDA half provides: a function that puts its kernels on a stream.
#pragma once

#include <cuda_runtime.h>

#include <array>

#include "base/kernel_io.h"

namespace openaclnn::cuda {

struct LaunchIo {
  const std::array<void*, kMaxParameters>&
      data;         // device addresses, in the order of the operator's parameters
  void* workspace;  // device memory, as large as phase 1 said
  CheckMode check;
  void* const* elements;  // host array: addresses of list elements, list by list; nullptr without lists
  cudaStream_t stream;
  Fault*
      fault;  // zeroed memory that host and device see: kernels write what they found, in stream order; count 0: nothing
};

// What a launch returns when CUB asks for more memory than sort_scratch_bytes(). No function of CUDA returns it since CUDA 4.1.
inline constexpr cudaError_t kSortScratchTooSmall = cudaErrorApiFailureBase;

// Enqueues only: no allocation, no waiting, no reading back, so that a graph can capture it. The plan's lists follow it in memory.
using LaunchFunction = cudaError_t (*)(const void* plan, const LaunchIo& io);

}  // namespace openaclnn::cuda
