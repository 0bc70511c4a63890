// Common parts of all kernels: the device language, launches and thread indices.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/inline.h"
#include "base/workspace_part.h"
#include "cuda/launch.h"

namespace openaclnn::cuda {

inline constexpr int kThreads = 256;  // threads per block, unless a kernel needs another number
// Blocks that should fit on a multiprocessor, for kernels that use many registers. Without this hint the
// compiler spills.
inline constexpr int kBlocksWithRegisters = 2;
inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Maximum size of all parameters of a kernel, since CUDA 12.1.
inline constexpr size_t kMostParameterBytes = 32764;

// Launches a kernel on a stream; `arguments` become the kernel's parameters by value. CUDA copies them from where
// they are: with kernel<<<…>>> or cudaLaunchKernelEx, large ones would also be copied to the caller's stack,
// several times.
template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                          cudaStream_t stream, const Arguments&... arguments) {
  static_assert((sizeof(Parameters) + ... + 0) <= kMostParameterBytes);
  const auto launch = [&](const Parameters&... parameters) {
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&parameters))...};
    return cudaLaunchKernel(kernel, grid, block, addresses, shared_bytes, stream);
  };
  return launch(static_cast<const Parameters&>(arguments)...);  // converts those of other types
}

// The thread's index within a launch of one-dimensional blocks and grid, and the number of threads.
__device__ __forceinline__ int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

// The number of multiprocessors of the current device. Results do not depend on it.
inline int64_t multiprocessors() {
  int device = 0;
  int count = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
  if (!known) (void)cudaGetLastError();
  return known && count > 0 ? count : 1;
}

// Returns the number of blocks for `items` independent items, one per thread. It is at most the number that
// can run at the same time, so that each block does its preparation once for many items.
inline int64_t blocks_for(int64_t items) {
  constexpr int64_t kBlocksPerMultiprocessor = 2048 / kThreads;
  return std::clamp<int64_t>(ceil_div(items, kThreads), 1, multiprocessors() * kBlocksPerMultiprocessor);
}

// Returns a grid with a thread for every `each` of `items` independent items. The GPU gives the next block to
// the multiprocessor that is done first. With a grid that fits the GPU, all would wait for the slowest one,
// which costs 5 % of the bandwidth on an H100.
inline dim3 grid_for_all(int64_t items, int64_t each = 1) {
  constexpr int64_t kMostInX = 0x7FFFFFFF;
  return {static_cast<unsigned>(std::clamp<int64_t>(ceil_div(items, kThreads * each), 1, kMostInX))};
}

inline dim3 grid_of(int64_t x, int64_t y = 1) { return {static_cast<unsigned>(x), static_cast<unsigned>(y)}; }

}  // namespace openaclnn::cuda

// Returns the error of a launch from a function that launches several kernels, or continues.
#define OPENACLNN_CUDA_TRY(...)                                                         \
  do {                                                                                  \
    if (const cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) return error_; \
  } while (false)
