// The interface of an operator's CUDA half: a function that launches its kernels on a stream.
#pragma once

#include <cuda_runtime.h>

#include <array>

#include "base/kernel_io.h"
#include "cuda/side_stream_handles.h"
#include "cuda/upload_piece.h"

namespace openaclnn::cuda {

struct LaunchIo {
  // Device addresses, in the order of the operator's parameters.
  const std::array<void*, kMaxParameters>& data;
  void* workspace;  // device memory of the size that phase 1 returned
  CheckMode check;
  void* const* elements;  // host array: addresses of list elements, list by list; nullptr without lists
  cudaStream_t stream;
  // Zeroed memory that host and device see: kernels write faults, in stream order; count 0: none.
  Fault* fault;
  LargestUploadPiece* piece;   // of the stream's queue (upload.cuh)
  SideStream* side = nullptr;  // of the stream's queue (side_stream.h); nullptr: none
};

// A launch returns this if CUB needs more memory than sort_scratch_bytes(). No CUDA function returns this
// code since CUDA 4.1.
inline constexpr cudaError_t kSortScratchTooSmall = cudaErrorApiFailureBase;

// Only enqueues: it does not allocate, wait or read back, so that a graph can capture it. The plan's lists
// follow it in memory.
using LaunchFunction = cudaError_t (*)(const void* plan, const LaunchIo& io);

}  // namespace openaclnn::cuda
