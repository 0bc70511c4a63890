// Finds the out-of-range positions of an index tensor. Each thread block counts its own, and one block
// combines the counts. Neither needs cleared memory, and results do not depend on the order of threads.
#pragma once

#include <cstdint>

#include "base/fault_scan_size.h"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// The number of faulty positions, and the lowest of them.
struct FaultScan {
  int64_t count;
  int64_t lowest;

  __device__ __forceinline__ static FaultScan none() { return {0, INT64_MAX}; }
  __device__ __forceinline__ void add(int64_t position) { join({1, position}); }
  __device__ __forceinline__ void join(const FaultScan& other) {
    count += other.count;
    if (other.lowest < lowest) lowest = other.lowest;
  }
};

static_assert(sizeof(FaultScan) == kFaultScanBytes);

// Combines the results of a block's threads; the result is in the first thread. All kThreads threads of the
// block must call it.
__device__ __forceinline__ FaultScan join_block(FaultScan mine) {
  __shared__ FaultScan of_warp[kThreads / kWarp];
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
    mine.join({__shfl_down_sync(kAllLanes, mine.count, distance),
               __shfl_down_sync(kAllLanes, mine.lowest, distance)});
  }
  const unsigned thread = threadIdx.x;
  if (thread % kWarp == 0) of_warp[thread / kWarp] = mine;
  __syncthreads();
  if (thread == 0) {
    for (int k = 1; k < kThreads / kWarp; ++k) mine.join(of_warp[k]);
  }
  return mine;
}

// Combines the results of `blocks` blocks; the result is in the first thread of the calling block.
__device__ __forceinline__ FaultScan join_blocks(const FaultScan* scans, int64_t blocks) {
  FaultScan mine = FaultScan::none();
  for (int64_t k = threadIdx.x; k < blocks; k += kThreads) mine.join(scans[k]);
  return join_block(mine);
}

}  // namespace openaclnn::cuda
