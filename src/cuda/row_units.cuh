// Sums of packed rows by persistent blocks, for large calls whose superblocks a kernel has listed. The order of
// additions is that of cuda/rows.cuh.
//
// A block takes units from a counter until none is left. A unit is a strip of columns of one superblock, or of
// eight groups of one block of terms each. Each of the block's eight warps adds one block of terms: of the
// superblock, or a group. Before the warps wait for each other, each loads the first rows of the next unit.
// Memory therefore stays busy while block sums are added and groups are completed. In a trial on an H200 with
// rows in BF16, persistent blocks moved 0.96 of a copy's bandwidth without these early loads, and 0.98 with them.
#pragma once

#include <cstdint>

#include "base/sum_order.h"
#include "cuda/float_types.cuh"
#include "cuda/kernel.cuh"
#include "cuda/rows.cuh"

namespace openaclnn::cuda {

static_assert(kThreads / kWarp == kWorkersOfSuperblock);

struct UnitCounts {
  unsigned shared;   // superblocks of groups of more than one block of terms: all warps share them
  unsigned singles;  // other groups: one warp adds each
  unsigned taken;    // units that blocks have taken after their first two; 0 at first
};

// The superblocks of all groups, in the workspace: shared ones from the front on, singles from the back on.
struct SuperblockList {
  TermSuperblock* superblocks;  // nullptr: not listed
  int64_t size;                 // TermGroups::items(), of which some are unused
  UnitCounts* counts;
};

// The part of one thread in a unit. It has numbers instead of addresses, for which nvcc would emit slower generic
// loads.
template <class In>
struct UnitPart {
  static constexpr int kCount = kLanes<In>;
  static constexpr int64_t kStripColumns = kWarp * kCount;

  bool exists;     // whether there is such a unit; the same in all threads
  bool is_shared;  // whether all warps add the same superblock
  unsigned strip;
  int64_t superblock;  // in the list; -1: no work for this warp
  int64_t term;        // the next row to load
  int rows;            // that this warp adds
  int64_t column;      // the first one that this thread loads

  __device__ __forceinline__ ThreadStrips<1> columns(int64_t columns_of_row) const {
    const int64_t first = strip * kStripColumns + static_cast<int>(threadIdx.x) % kWarp * kCount;
    return {first, 0, first < columns_of_row ? 1 : 0};
  }
};

// Returns the part of the calling thread in a unit. Strips of one superblock have neighbouring numbers, so that
// blocks that run at the same time read whole rows. Singles come last, because short units balance the end.
template <class In>
__device__ __forceinline__ UnitPart<In> find_unit(const SuperblockList& list, const UnitCounts& counts,
                                                  int64_t columns, unsigned number) {
  using Part = UnitPart<In>;
  const unsigned worker = threadIdx.x / kWarp;
  const unsigned strips = static_cast<unsigned>(ceil_div(columns, Part::kStripColumns));
  const unsigned item = number / strips;
  Part part = {};
  part.strip = number - item * strips;
  part.is_shared = item < counts.shared;
  part.superblock = item;
  part.exists = true;
  if (!part.is_shared) {
    const unsigned first = (item - counts.shared) * kWorkersOfSuperblock;
    part.exists = first < counts.singles;
    part.superblock = first + worker < counts.singles ? list.size - 1 - first - worker : -1;
  }
  if (part.superblock >= 0) {
    const TermSuperblock superblock = list.superblocks[part.superblock];
    part.term = superblock.begin + (part.is_shared ? worker * kBlockTerms : 0);
    const int64_t left = superblock.end - part.term;
    part.rows = static_cast<int>(left < 0 ? 0 : left < kBlockTerms ? left : kBlockTerms);
  }
  // Threads after the last column load the first ones of the strip, because a condition would become a branch
  // around each load.
  const ThreadStrips<1> own = part.columns(columns);
  part.column = own.strips > 0 ? own.first : part.strip * Part::kStripColumns;
  return part;
}

template <class Terms>
using LoadedRows = Stored<typename Terms::In, kLanes<typename Terms::In>>[Terms::kPacks];

// Loads the next rows of a unit, at most `left` and at most as many as fit. Terms numbers rows over all groups.
template <class Terms>
__device__ __forceinline__ void load_rows(const Terms& terms, UnitPart<typename Terms::In>& part, int left,
                                          LoadedRows<Terms>& rows) {
  constexpr int kCount = kLanes<typename Terms::In>;
  auto cursor = terms.cursor(0, part.term);
  if (left >= Terms::kPacks) {
#pragma unroll
    for (int r = 0; r < Terms::kPacks; ++r) rows[r] = load_stored<kCount>(cursor.next() + part.column);
  } else {
#pragma unroll
    for (int r = 0; r < Terms::kPacks; ++r) {
      if (r < left) rows[r] = load_stored<kCount>(cursor.next() + part.column);
    }
  }
  part.term += Terms::kPacks;
}

// Adds loaded rows, but at most `left`, from left to right.
template <class Terms>
__device__ __forceinline__ void add_rows(const LoadedRows<Terms>& rows, int left,
                                         float (&sums)[kLanes<typename Terms::In>]) {
  constexpr int kCount = kLanes<typename Terms::In>;
  const auto add = [&](int r) {
    float wide[kCount];
    widen<typename Terms::In, kCount>(rows[r], wide);
#pragma unroll
    for (int c = 0; c < kCount; ++c) sums[c] += wide[c];
  };
  if (left >= Terms::kPacks) {
#pragma unroll
    for (int r = 0; r < Terms::kPacks; ++r) add(r);
  } else {
#pragma unroll
    for (int r = 0; r < Terms::kPacks; ++r) {
      if (r < left) add(r);
    }
  }
}

// Adds the rows of a unit, the first of which are loaded. Afterwards those of the next one are loaded.
template <class Terms>
__device__ __forceinline__ void add_unit(const Terms& terms, UnitPart<typename Terms::In>& part,
                                         UnitPart<typename Terms::In>& next, LoadedRows<Terms>& rows,
                                         float (&sums)[kLanes<typename Terms::In>]) {
#pragma unroll 1
  for (int left = part.rows; left > 0; left -= Terms::kPacks) {
    add_rows<Terms>(rows, left, sums);
    if (left > Terms::kPacks) load_rows(terms, part, left - Terms::kPacks, rows);
  }
  load_rows(terms, next, next.rows, rows);
}

// A group whose superblocks are complete in a strip. Group -1: there is none.
struct CompleteGroup {
  int64_t group;
  int64_t strip;
};

// One warp adds the sums of a superblock's blocks of terms, and returns the group that this completes.
template <class In, class Out>
__device__ __forceinline__ CompleteGroup finish_superblock(const SumTargets<Out>& targets,
                                                           const TermSuperblock& superblock,
                                                           const UnitPart<In>& part,
                                                           const float (&block_sums)[kLanes<In>][kThreads]) {
  using Part = UnitPart<In>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int count = static_cast<int>(ceil_div(superblock.end - superblock.begin, kBlockTerms));
  float sums[1][Part::kCount] = {};
  for (int w = 0; w < count; ++w) {
#pragma unroll
    for (int c = 0; c < Part::kCount; ++c) sums[0][c] += block_sums[c][w * kWarp + lane];
  }
  write_sums(targets, superblock, part.columns(targets.columns), sums);
  if (superblock.is_whole) return {-1, 0};
  __threadfence();  // the sums before the count
  __syncwarp();
  if (lane > 0) return {-1, 0};
  const int64_t strips = ceil_div(targets.columns, Part::kStripColumns);
  const bool is_last = count_superblock(targets, superblock.group, part.strip, strips);
  return {is_last ? superblock.group : -1, part.strip};
}

// Sums all groups of the list. Two halves of the shared memory alternate: after the barrier of a unit, one warp
// still reads its block sums while the others add the next unit. A group that this warp finds complete is joined
// after the next barrier.
template <class Terms, class Out>
__global__ void __launch_bounds__(kThreads, Terms::kBlocks)
    sum_units(const __grid_constant__ Terms terms, const __grid_constant__ SumTargets<Out> targets,
              const __grid_constant__ SuperblockList list) {
  if (*targets.faults > 0) return;
  using Part = UnitPart<typename Terms::In>;
  __shared__ float block_sums[2][Part::kCount][kThreads];
  __shared__ unsigned numbers[2];
  __shared__ CompleteGroup complete[2];
  const unsigned worker = threadIdx.x / kWarp;
  const UnitCounts counts = *list.counts;
  const auto find = [&](unsigned number) {
    return find_unit<typename Terms::In>(list, counts, targets.columns, number);
  };
  const auto join = [&](const CompleteGroup& found) {
    if (found.group >= 0)
      join_superblocks(targets, found.group, found.strip * Part::kStripColumns, Part::kStripColumns);
  };
  Part part = find(blockIdx.x);
  Part next = find(blockIdx.x + gridDim.x);
  LoadedRows<Terms> rows = {};
  load_rows(terms, part, part.rows, rows);
  if (threadIdx.x == 0) complete[1].group = -1;
  unsigned turn = 0;
  for (; part.exists; ++turn) {
    const unsigned half = turn % 2;
    unsigned number = 0;  // of the unit after the next one
    if (threadIdx.x == 0) number = 2 * gridDim.x + atomicAdd(&list.counts->taken, 1u);
    float sums[1][Part::kCount] = {};
    add_unit(terms, part, next, rows, sums[0]);
    if (part.is_shared) {
#pragma unroll
      for (int c = 0; c < Part::kCount; ++c) block_sums[half][c][threadIdx.x] = sums[0][c];
    } else if (part.superblock >= 0) {
      write_sums(targets, list.superblocks[part.superblock], part.columns(targets.columns), sums);
    }
    if (threadIdx.x == 0) numbers[half] = number;
    __syncthreads();
    const Part after = find(numbers[half]);
    if (worker == turn % kWorkersOfSuperblock) {  // in turn, because this warp is late for the next unit
      CompleteGroup found = {-1, 0};
      if (part.is_shared)
        found = finish_superblock(targets, list.superblocks[part.superblock], part, block_sums[half]);
      if (threadIdx.x % kWarp == 0) complete[half] = found;
    }
    join(complete[half ^ 1]);
    part = next;
    next = after;
  }
  __syncthreads();
  join(complete[(turn + 1) % 2]);
}

// Whether units suit these sums: there is a list, every strip except the last is full, and units of whole
// superblocks would give each of the blocks at least one.
template <class Terms, class Out>
bool suits_units(const SumTargets<Out>& targets, const SuperblockList& list) {
  const int64_t columns = UnitPart<typename Terms::In>::kStripColumns;
  if (list.superblocks == nullptr || targets.columns < columns) return false;
  const int64_t strips = ceil_div(targets.columns, columns);
  const int64_t least = targets.groups.most_terms / kSuperblockTerms * strips;
  constexpr int64_t kMostUnits = INT32_MAX;  // numbers of units have 32 bits
  return least >= multiprocessors() * Terms::kBlocks && list.size <= kMostUnits / strips;
}

template <class Terms, class Out>
cudaError_t launch_sum_units(const Terms& terms, const SumTargets<Out>& targets, const SuperblockList& list,
                             cudaStream_t stream) {
  return launch_kernel(sum_units<Terms, Out>, grid_of(multiprocessors() * Terms::kBlocks), kThreads, 0,
                       stream, terms, targets, list);
}

}  // namespace openaclnn::cuda
