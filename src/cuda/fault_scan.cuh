// Finds the out-of-range positions of an index tensor. Each thread block counts its own, and one block
// combines the counts. Neither needs cleared memory, and results do not depend on the order of threads.
#pragma once

#include <cstdint>

#include "base/fault_scan_size.h"
#include "base/fault_value.h"
#include "cuda/kernel.cuh"
#include "cuda/loops.cuh"

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

// The positions of an index tensor, which is the first operand of `nest`, and the rows that indices must be in.
template <int kOperands>
struct IndexRange {
  LoopNest<kOperands> nest;
  int64_t positions, table_rows;
};

// Runs as one block: combines the results of all blocks into the fault, and sets `faults` to their number.
template <class Index, int kOperands>
__global__ void __launch_bounds__(kThreads)
    report_indices(const __grid_constant__ IndexRange<kOperands> range, const Index* indices,
                   const FaultScan* scans, int64_t blocks, bool nothing_written, int64_t* faults,
                   Fault* fault) {
  const FaultScan found = join_blocks(scans, blocks);
  if (threadIdx.x != 0) return;
  *faults = found.count;
  if (found.count == 0) return;
  int64_t at[kOperands];
  find_offsets(range.nest, found.lowest, at);
  show_element(indices[at[0]], *fault);
  fault->position = found.lowest;
  fault->limit = range.table_rows;
  fault->total = range.positions;
  fault->nothing_written = nothing_written;
  fault->count = found.count;
}

}  // namespace openaclnn::cuda
