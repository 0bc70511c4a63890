// Sums of rows on the device in the library's one order of additions (base/sum_order.h), shared by every operator that adds rows.
//
// Rows are the terms of sums, numbered consecutively over all groups. The unit of work is a superblock of the
// order of additions: superblock c of group g is item begin(g) / 512 + g + c. These numbers ascend, and their
// limit is known without knowing the groups. The grid is therefore balanced for any group sizes, and a thread
// finds its superblock by a short binary search. One worker, the few threads that share a row, sums a
// superblock of one block of terms. Eight workers sum a longer one, one block of terms each. Sums of groups
// of one superblock are written directly. Superblock sums of longer groups go to the workspace, and a second
// kernel adds them in double.
#pragma once

#include <bit>
#include <cstdint>

#include "base/search.h"
#include "base/sum_order.h"
#include "cuda/float_types.cuh"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// First and past-the-end term of each group.
struct TermGroups {
  const int64_t* ends;  // ascending; nullptr: each group has terms_each terms
  int64_t terms_each;
  int64_t count;
  int64_t most_terms;  // of all groups together

  __device__ __forceinline__ int64_t end(int64_t group) const {
    return ends != nullptr ? ends[group] : (group + 1) * terms_each;
  }
  __device__ __forceinline__ int64_t begin(int64_t group) const { return group > 0 ? end(group - 1) : 0; }

  OPENACLNN_INLINE int64_t items() const { return most_terms / kSuperblockTerms + count; }
};

// A superblock, or a group without terms. Group -1 means no work.
struct TermSuperblock {
  int64_t group;
  int64_t begin, end;
  bool is_whole;  // whether it is a whole group
};

__device__ __forceinline__ TermSuperblock find_superblock(const TermGroups& groups, int64_t item) {
  // The last group whose first item is not after this one.
  const int64_t last_group = groups.count - 1;
  int64_t low = item - groups.most_terms / kSuperblockTerms;
  low = low < 0 ? 0 : low > last_group ? last_group : low;
  const int64_t high = (item < last_group ? item : last_group) + 1;
  const int64_t group =
      last_where(low, high, [&](int64_t k) { return groups.begin(k) / kSuperblockTerms + k <= item; });
  const int64_t begin = groups.begin(group);
  const int64_t end = groups.end(group);
  const int64_t superblock = item - (begin / kSuperblockTerms + group);
  const int64_t superblock_begin = begin + superblock * kSuperblockTerms;
  if (superblock > 0 && superblock_begin >= end) return {-1, 0, 0, false};
  const int64_t superblock_end =
      superblock_begin + kSuperblockTerms < end ? superblock_begin + kSuperblockTerms : end;
  return {group, superblock_begin, superblock_end, end - begin <= kSuperblockTerms};
}

// Returns the slot for the sum of a superblock of a long group. Full superblocks use even slots. Incomplete
// ones, at most one per group, use odd slots. Slots are unique: full superblocks start at least
// kSuperblockTerms terms apart, and so do incomplete ones at the end of long groups.
__device__ __forceinline__ int64_t slot_of(int64_t begin, int64_t end) {
  return 2 * (begin / kSuperblockTerms) + (end - begin < kSuperblockTerms ? 1 : 0);
}

// The inputs and outputs of sums except their terms. Strides in elements.
template <class Out>
struct SumTargets {
  TermGroups groups;
  int64_t columns;
  int64_t in_column_stride;
  Out* out;  // the row of the first group
  int64_t out_row_stride, out_column_stride;
  float* superblock_sums;  // [slots, columns]
  bool scales;             // whether to multiply by one over the number of terms
  const int64_t* faults;   // nullptr, or a count; if it is above 0, nothing is written

  // Scales an fp32 sum.
  __device__ __forceinline__ float scaled(float sum, int64_t terms) const {
    return scales && terms > 0 ? (1.0f / static_cast<float>(terms)) * sum : sum;
  }
};

// Adds terms [begin, end) of one block of terms to sum, from left to right, with several loads in flight.
// Terms provides `In` and row(group, term), the address of a term's first column.
template <int kCount, class Terms>
__device__ __forceinline__ void add_term_block(const Terms& terms, int64_t group, int64_t begin, int64_t end,
                                               int64_t column_offset, float (&sum)[kCount]) {
  using Columns = Pack<typename Terms::In, kCount>;
  constexpr int kTogether = 8;
  for (int64_t k = begin; k < end; k += kTogether) {
    Columns rows[kTogether] = {};
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (k + i < end) rows[i] = *reinterpret_cast<const Columns*>(terms.row(group, k + i) + column_offset);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (k + i >= end) break;
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] += to_fp32(rows[i].lane[c]);
    }
  }
}

template <int kCount, class Out>
__device__ __forceinline__ void write_sum(const SumTargets<Out>& targets, const TermSuperblock& superblock,
                                          int64_t column, float (&sum)[kCount]) {
  if (!superblock.is_whole) {
    store_pack(
        sum, targets.superblock_sums + slot_of(superblock.begin, superblock.end) * targets.columns + column);
    return;
  }
#pragma unroll
  for (int c = 0; c < kCount; ++c) sum[c] = targets.scaled(sum[c], superblock.end - superblock.begin);
  store_pack(sum,
             targets.out + superblock.group * targets.out_row_stride + column * targets.out_column_stride);
}

inline constexpr int kWorkersOfSuperblock = kSuperblockTerms / kBlockTerms;
inline constexpr int kMostSuperblocks = kWarp;  // per CUDA block

// How a launch distributes the work: a worker is `lanes` threads, and a CUDA block has `superblocks`
// superblocks. These are neighbours if rows are narrow, so that a CUDA block accesses contiguous memory.
// Otherwise they are far apart, so that many CUDA blocks share the superblocks of one long group.
struct SumShape {
  int lanes;
  int superblocks;
  bool neighbours;
};

// A thread sums kCount columns: a pack if rows are contiguous and aligned, otherwise one.
template <int kCount, class Terms, class Out>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    sum_superblocks(const __grid_constant__ Terms terms, const __grid_constant__ SumTargets<Out> targets,
                    SumShape shape) {
  if (targets.faults != nullptr && *targets.faults > 0) return;
  __shared__ TermSuperblock superblocks[kMostSuperblocks];
  __shared__ unsigned long_superblocks;
  __shared__ float block_sums[kThreads][kCount];
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int worker = static_cast<int>(threadIdx.x) / shape.lanes;
  const int workers = kThreads / shape.lanes;
  const int64_t items = targets.groups.items();
  const int64_t blocks = gridDim.x;
  const int64_t distance = shape.neighbours ? 1 : blocks;
  for (int64_t first = int64_t{blockIdx.x} * (shape.neighbours ? shape.superblocks : 1); first < items;
       first += blocks * shape.superblocks) {
    if (threadIdx.x < kWarp) {
      const int own = static_cast<int>(threadIdx.x);
      const int64_t item = first + own * distance;
      TermSuperblock superblock = {-1, 0, 0, false};
      if (own < shape.superblocks && item < items) superblock = find_superblock(targets.groups, item);
      superblocks[own] = superblock;
      const unsigned mask = __ballot_sync(kAllLanes, superblock.end - superblock.begin > kBlockTerms);
      if (own == 0) long_superblocks = mask;
    }
    __syncthreads();
    for (int64_t strip = blockIdx.y; strip * shape.lanes * kCount < targets.columns; strip += gridDim.y) {
      const int64_t column = (strip * shape.lanes + lane) * kCount;
      const bool has_columns = column < targets.columns;
      const int64_t offset = column * targets.in_column_stride;
      for (int k = worker; has_columns && k < shape.superblocks; k += workers) {
        const TermSuperblock superblock = superblocks[k];
        if (superblock.group < 0 || (long_superblocks >> k & 1) != 0) continue;
        float sum[kCount] = {};
        add_term_block(terms, superblock.group, superblock.begin, superblock.end, offset, sum);
        write_sum(targets, superblock, column, sum);
      }
      // The long superblocks, as many at once as there are workers. All threads do the same number of
      // iterations.
      const int term_block = worker % kWorkersOfSuperblock;
      const int together = workers / kWorkersOfSuperblock;
      for (unsigned left = long_superblocks; left != 0;) {
        unsigned own = left;
        for (int k = 0; k < worker / kWorkersOfSuperblock; ++k) own &= own - 1;
        for (int k = 0; k < together; ++k) left &= left - 1;
        const bool works = own != 0 && has_columns;
        const TermSuperblock superblock =
            works ? superblocks[__ffs(static_cast<int>(own)) - 1] : TermSuperblock{-1, 0, 0, false};
        const int64_t begin = superblock.begin + term_block * kBlockTerms;
        if (works) {
          float sum[kCount] = {};
          add_term_block(terms, superblock.group, begin,
                         begin + kBlockTerms < superblock.end ? begin + kBlockTerms : superblock.end, offset,
                         sum);
#pragma unroll
          for (int c = 0; c < kCount; ++c) block_sums[threadIdx.x][c] = sum[c];
        }
        __syncthreads();
        if (works && term_block == 0) {
          float sum[kCount] = {};
          const int64_t count = (superblock.end - superblock.begin + kBlockTerms - 1) / kBlockTerms;
          for (int w = 0; w < count; ++w) {
#pragma unroll
            for (int c = 0; c < kCount; ++c) sum[c] += block_sums[threadIdx.x + w * shape.lanes][c];
          }
          write_sum(targets, superblock, column, sum);
        }
        __syncthreads();
      }
    }
    __syncthreads();
  }
}

// A group of several superblocks. Group -1 means none.
struct LongGroup {
  int64_t group;
  int64_t begin, end;
  int64_t superblocks;
};

// Finds a group of more than one superblock. It contains exactly one term whose number is a multiple of
// kSuperblockTerms and at most that far after its begin. `stretch` is the index of this multiple.
__device__ __forceinline__ LongGroup find_long_group(const TermGroups& groups, int64_t stretch) {
  const int64_t term = stretch * kSuperblockTerms;
  const int64_t group = first_where(0, groups.count, [&](int64_t k) { return groups.end(k) > term; });
  if (group == groups.count) return {-1, 0, 0, 0};
  const int64_t begin = groups.begin(group);
  const int64_t end = groups.end(group);
  if (begin >= term || term - begin > kSuperblockTerms || end - begin <= kSuperblockTerms)
    return {-1, 0, 0, 0};
  return {group, begin, end, (end - begin + kSuperblockTerms - 1) / kSuperblockTerms};
}

template <class Out>
__device__ __forceinline__ float read_superblock_sum(const SumTargets<Out>& targets, const LongGroup& group,
                                                     int64_t superblock, int64_t column) {
  const int64_t begin = group.begin + superblock * kSuperblockTerms;
  const int64_t end = begin + kSuperblockTerms < group.end ? begin + kSuperblockTerms : group.end;
  return targets.superblock_sums[slot_of(begin, end) * targets.columns + column];
}

template <class Out>
__device__ __forceinline__ void write_total(const SumTargets<Out>& targets, const LongGroup& group,
                                            int64_t column, double total) {
  targets.out[group.group * targets.out_row_stride + column * targets.out_column_stride] =
      from_fp32<Out>(targets.scaled(static_cast<float>(total), group.end - group.begin));
}

inline constexpr int kJoinWarps = kThreads / kWarp;
inline constexpr int kJoinTogether = 4;  // superblock sums that a thread loads at a time
inline constexpr int kJoinSuperblocks = kJoinTogether * kJoinWarps;  // per block

// One thread sums one column of a group of few superblocks. After the last superblock it rereads the last
// sum, because a condition would become a branch around each load.
template <class Out>
__device__ __forceinline__ void join_few(const SumTargets<Out>& targets, const LongGroup& group,
                                         int64_t column) {
  double total = 0;
  for (int64_t first = 0; first < group.superblocks; first += kJoinTogether) {
    float sums[kJoinTogether];
#pragma unroll
    for (int k = 0; k < kJoinTogether; ++k) {
      const int64_t superblock = first + k < group.superblocks ? first + k : group.superblocks - 1;
      sums[k] = read_superblock_sum(targets, group, superblock, column);
    }
#pragma unroll
    for (int k = 0; k < kJoinTogether; ++k) {
      if (first + k < group.superblocks) total += static_cast<double>(sums[k]);
    }
  }
  write_total(targets, group, column, total);
}

// Each lane of the first warp sums a column of a group of many superblocks, for which all warps of the block
// load. All warps must call.
template <class Out>
__device__ __forceinline__ void join_many(const SumTargets<Out>& targets, const LongGroup& group,
                                          int64_t column, int warp, float (&sums)[kJoinSuperblocks][kWarp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool has_column = column < targets.columns;
  double total = 0;
  for (int64_t first = 0; first < group.superblocks; first += kJoinSuperblocks) {
    for (int k = warp; has_column && k < kJoinSuperblocks && first + k < group.superblocks; k += kJoinWarps)
      sums[k][lane] = read_superblock_sum(targets, group, first + k, column);
    __syncthreads();
    for (int k = 0; warp == 0 && has_column && k < kJoinSuperblocks && first + k < group.superblocks; ++k)
      total += static_cast<double>(sums[k][lane]);
    __syncthreads();
  }
  if (warp == 0 && has_column) write_total(targets, group, column, total);
}

// Adds the superblock sums of long groups in double from left to right. Each warp finds a group and sums it
// if it has few superblocks. All warps together sum groups with many.
template <class Out>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    join_superblocks(const __grid_constant__ SumTargets<Out> targets) {
  if (targets.faults != nullptr && *targets.faults > 0) return;
  __shared__ float sums[kJoinSuperblocks][kWarp];
  __shared__ LongGroup found[kJoinWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t stretches = targets.groups.most_terms / kSuperblockTerms;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kJoinWarps; first < stretches;
       first += static_cast<int64_t>(gridDim.x) * kJoinWarps) {
    LongGroup own = {-1, 0, 0, 0};
    if (first + warp < stretches) own = find_long_group(targets.groups, first + warp + 1);
    if (lane == 0) found[warp] = own;
    __syncthreads();
    for (int64_t strip = blockIdx.y; strip * kWarp < targets.columns; strip += gridDim.y) {
      const int64_t column = strip * kWarp + lane;
      if (own.group >= 0 && own.superblocks <= kJoinSuperblocks && column < targets.columns)
        join_few(targets, own, column);
      for (int k = 0; k < kJoinWarps; ++k) {
        if (found[k].superblocks > kJoinSuperblocks) join_many(targets, found[k], column, warp, sums);
      }
    }
    __syncthreads();
  }
}

// Returns enough blocks to keep the GPU busy until the end. Large calls have several superblocks per block,
// which it finds at the same time.
template <int kCount, class Terms, class Out>
cudaError_t launch_sum_superblocks(const Terms& terms, const SumTargets<Out>& targets, cudaStream_t stream) {
  constexpr int64_t kMostInX = 0x7FFFFFFF, kMostInY = 0xFFFF;
  const int64_t wanted = multiprocessors() * 32;
  const int64_t packs = ceil_div(targets.columns, kCount);
  SumShape shape;
  shape.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(packs, kWarp))));
  const int64_t strips = ceil_div(packs, shape.lanes);
  const int64_t items = targets.groups.items();
  const int64_t superblocks =
      std::clamp<int64_t>(items / wanted * std::min<int64_t>(strips, kMostSuperblocks), 1, kMostSuperblocks);
  shape.superblocks = static_cast<int>(superblocks);
  shape.neighbours = strips == 1;
  const int64_t blocks = std::min(ceil_div(items, superblocks), kMostInX);
  const int64_t strip_blocks = std::clamp<int64_t>(ceil_div(wanted, blocks), 1, std::min(strips, kMostInY));
  return launch_kernel(sum_superblocks<kCount, Terms, Out>, grid_of(blocks, strip_blocks), kThreads, 0,
                       stream, terms, targets, shape);
}

// Computes all sums. packed: rows of `In` and of `Out` can be accessed in packs of as many columns as 16
// bytes of In hold. longest: the most terms that a group may have.
template <class Terms, class Out>
cudaError_t sum_rows(const Terms& terms, const SumTargets<Out>& targets, bool packed, int64_t longest,
                     cudaStream_t stream) {
  OPENACLNN_CUDA_TRY(packed ? launch_sum_superblocks<kLanes<typename Terms::In>>(terms, targets, stream)
                            : launch_sum_superblocks<1>(terms, targets, stream));
  if (longest <= kSuperblockTerms) return cudaSuccess;
  const int64_t stretches = targets.groups.most_terms / kSuperblockTerms;
  const int64_t blocks = std::clamp<int64_t>(ceil_div(stretches, kJoinWarps), 1, 0x7FFFFFFF);
  const int64_t strips = std::min<int64_t>(ceil_div(targets.columns, kWarp), 0xFFFF);
  return launch_kernel(join_superblocks<Out>, grid_of(blocks, strips), kThreads, 0, stream, targets);
}

}  // namespace openaclnn::cuda
