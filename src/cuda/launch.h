// What an operator's CUDA half provides: a function that puts its kernels on a stream.
#pragma once

#include <cuda_runtime.h>

#include <array>

#include "runtime/device.h"

namespace openaclnn::cuda {

// What a launch gets besides the plan.
struct LaunchIo {
  const std::array<void*, kMaxParameters>&
      data;         // device addresses, in the order of the operator's parameters
  void* workspace;  // device memory, as large as phase 1 said
  CheckMode check;
  void* const* elements;  // host array: addresses of list elements, list by list; or nullptr
  cudaStream_t stream;
  // Memory that host and device see, zeroed in advance: kernels write what they found, in stream order. Count 0: nothing.
  Fault* fault;
};

// Only enqueues: no allocation, no waiting, no reading back, so that a CUDA graph can capture it.
using Launch = cudaError_t (*)(const void* plan, const LaunchIo& io);

}  // namespace openaclnn::cuda
