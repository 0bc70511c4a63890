// Sums of rows on the device in the library's one order of additions (base/sum_order.h), shared by every operator that adds rows.
//
// Rows, the terms of sums, are numbered over all groups, one group behind the other. The unit of work is a chunk of the order: chunk
// c of group g is item begin(g) / 512 + g + c. These numbers ascend, and their limit is known without knowing the groups, so the grid
// is balanced for any sizes of groups, and a thread finds its chunk by a short binary search. A chunk of one window is summed by one
// worker, the few threads that share a row; a longer one by eight workers, a window each. Sums of groups of one chunk are written at
// once; chunk sums of longer groups go to the workspace, and a second kernel joins them in double.
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
  const int64_t* ends;  // ascending; nullptr: terms_each terms each
  int64_t terms_each;
  int64_t count;
  int64_t most_terms;  // of all groups together

  __device__ __forceinline__ int64_t end(int64_t group) const {
    return ends != nullptr ? ends[group] : (group + 1) * terms_each;
  }
  __device__ __forceinline__ int64_t begin(int64_t group) const { return group > 0 ? end(group - 1) : 0; }

  OPENACLNN_INLINE int64_t items() const { return most_terms / kChunkTerms + count; }
};

// A chunk, or a group without terms; group -1: no work.
struct TermChunk {
  int64_t group;
  int64_t begin, end;
  bool is_whole;  // group
};

__device__ __forceinline__ TermChunk find_chunk(const TermGroups& groups, int64_t item) {
  // The last group whose first item is not behind this one.
  const int64_t last_group = groups.count - 1;
  int64_t low = item - groups.most_terms / kChunkTerms;
  low = low < 0 ? 0 : low > last_group ? last_group : low;
  const int64_t high = (item < last_group ? item : last_group) + 1;
  const int64_t group =
      last_where(low, high, [&](int64_t k) { return groups.begin(k) / kChunkTerms + k <= item; });
  const int64_t begin = groups.begin(group);
  const int64_t end = groups.end(group);
  const int64_t chunk = item - (begin / kChunkTerms + group);
  const int64_t chunk_begin = begin + chunk * kChunkTerms;
  if (chunk > 0 && chunk_begin >= end) return {-1, 0, 0, false};
  const int64_t chunk_end = chunk_begin + kChunkTerms < end ? chunk_begin + kChunkTerms : end;
  return {group, chunk_begin, chunk_end, end - begin <= kChunkTerms};
}

// Where the sum of a chunk of a long group goes. Full chunks have the even slots, and the incomplete ones, of which a group has one
// at most, the odd ones: full chunks start at least kChunkTerms terms apart, and so do incomplete ones that end long groups.
__device__ __forceinline__ int64_t slot_of(int64_t begin, int64_t end) {
  return 2 * (begin / kChunkTerms) + (end - begin < kChunkTerms ? 1 : 0);
}

// What sums need besides their terms. Strides in elements.
template <class Out>
struct SumTargets {
  TermGroups groups;
  int64_t columns;
  int64_t in_column_stride;
  Out* out;  // the row of the first group
  int64_t out_row_stride, out_column_stride;
  float* chunk_sums;      // float[slots, columns]
  bool scales;            // by one over the number of terms
  const int64_t* faults;  // nullptr, or where it says that nothing is written

  // Of an fp32 sum.
  __device__ __forceinline__ float scaled(float sum, int64_t terms) const {
    return scales && terms > 0 ? (1.0f / static_cast<float>(terms)) * sum : sum;
  }
};

// sum += terms [begin, end) of one window, from left to right, several on their way at once. Terms: `In` and
// row(group, term), the address of a term's first column.
template <int kCount, class Terms>
__device__ __forceinline__ void add_window(const Terms& terms, int64_t group, int64_t begin, int64_t end,
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
__device__ __forceinline__ void write_sum(const SumTargets<Out>& targets, const TermChunk& chunk,
                                          int64_t column, float (&sum)[kCount]) {
  if (!chunk.is_whole) {
    store_pack(sum, targets.chunk_sums + slot_of(chunk.begin, chunk.end) * targets.columns + column);
    return;
  }
#pragma unroll
  for (int c = 0; c < kCount; ++c) sum[c] = targets.scaled(sum[c], chunk.end - chunk.begin);
  store_pack(sum, targets.out + chunk.group * targets.out_row_stride + column * targets.out_column_stride);
}

inline constexpr int kWorkersOfChunk = kChunkTerms / kWindowTerms;
inline constexpr int kMostChunks = kWarp;  // of a block

// How a launch shares out the work: `lanes` threads are a worker, `chunks` chunks belong to a block. These are neighbours where rows
// are narrow, so that a block's reads and writes are; else they lie far apart, so that the chunks of one long group meet many blocks.
struct SumShape {
  int lanes;
  int chunks;
  bool neighbours;
};

// kCount columns to a thread: those of a pack where rows are contiguous and aligned, else one.
template <int kCount, class Terms, class Out>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    sum_chunks(const __grid_constant__ Terms terms, const __grid_constant__ SumTargets<Out> targets,
               SumShape shape) {
  if (targets.faults != nullptr && *targets.faults > 0) return;
  __shared__ TermChunk chunks[kMostChunks];
  __shared__ unsigned long_chunks;
  __shared__ float windows[kThreads][kCount];
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int worker = static_cast<int>(threadIdx.x) / shape.lanes;
  const int workers = kThreads / shape.lanes;
  const int64_t items = targets.groups.items();
  const int64_t blocks = gridDim.x;
  const int64_t distance = shape.neighbours ? 1 : blocks;
  for (int64_t first = int64_t{blockIdx.x} * (shape.neighbours ? shape.chunks : 1); first < items;
       first += blocks * shape.chunks) {
    if (threadIdx.x < kWarp) {
      const int own = static_cast<int>(threadIdx.x);
      const int64_t item = first + own * distance;
      TermChunk chunk = {-1, 0, 0, false};
      if (own < shape.chunks && item < items) chunk = find_chunk(targets.groups, item);
      chunks[own] = chunk;
      const unsigned mask = __ballot_sync(kAllLanes, chunk.end - chunk.begin > kWindowTerms);
      if (own == 0) long_chunks = mask;
    }
    __syncthreads();
    for (int64_t strip = blockIdx.y; strip * shape.lanes * kCount < targets.columns; strip += gridDim.y) {
      const int64_t column = (strip * shape.lanes + lane) * kCount;
      const bool has_columns = column < targets.columns;
      const int64_t offset = column * targets.in_column_stride;
      for (int k = worker; has_columns && k < shape.chunks; k += workers) {
        const TermChunk chunk = chunks[k];
        if (chunk.group < 0 || (long_chunks >> k & 1) != 0) continue;
        float sum[kCount] = {};
        add_window(terms, chunk.group, chunk.begin, chunk.end, offset, sum);
        write_sum(targets, chunk, column, sum);
      }
      // The long chunks, as many at once as there are workers for: all threads go round as often.
      const int window = worker % kWorkersOfChunk;
      const int together = workers / kWorkersOfChunk;
      for (unsigned left = long_chunks; left != 0;) {
        unsigned own = left;
        for (int k = 0; k < worker / kWorkersOfChunk; ++k) own &= own - 1;
        for (int k = 0; k < together; ++k) left &= left - 1;
        const bool works = own != 0 && has_columns;
        const TermChunk chunk = works ? chunks[__ffs(static_cast<int>(own)) - 1] : TermChunk{-1, 0, 0, false};
        const int64_t begin = chunk.begin + window * kWindowTerms;
        if (works) {
          float sum[kCount] = {};
          add_window(terms, chunk.group, begin,
                     begin + kWindowTerms < chunk.end ? begin + kWindowTerms : chunk.end, offset, sum);
#pragma unroll
          for (int c = 0; c < kCount; ++c) windows[threadIdx.x][c] = sum[c];
        }
        __syncthreads();
        if (works && window == 0) {
          float sum[kCount] = {};
          const int64_t count = (chunk.end - chunk.begin + kWindowTerms - 1) / kWindowTerms;
          for (int w = 0; w < count; ++w) {
#pragma unroll
            for (int c = 0; c < kCount; ++c) sum[c] += windows[threadIdx.x + w * shape.lanes][c];
          }
          write_sum(targets, chunk, column, sum);
        }
        __syncthreads();
      }
    }
    __syncthreads();
  }
}

// A group of several chunks; group -1: none.
struct LongGroup {
  int64_t group;
  int64_t begin, end;
  int64_t chunks;
};

// A group of more than one chunk has exactly one term whose number is a multiple of kChunkTerms and at most that far behind the
// group's begin: the one that `stretch` counts these multiples to.
__device__ __forceinline__ LongGroup find_long_group(const TermGroups& groups, int64_t stretch) {
  const int64_t term = stretch * kChunkTerms;
  const int64_t group = first_where(0, groups.count, [&](int64_t k) { return groups.end(k) > term; });
  if (group == groups.count) return {-1, 0, 0, 0};
  const int64_t begin = groups.begin(group);
  const int64_t end = groups.end(group);
  if (begin >= term || term - begin > kChunkTerms || end - begin <= kChunkTerms) return {-1, 0, 0, 0};
  return {group, begin, end, (end - begin + kChunkTerms - 1) / kChunkTerms};
}

template <class Out>
__device__ __forceinline__ float read_chunk_sum(const SumTargets<Out>& targets, const LongGroup& group,
                                                int64_t chunk, int64_t column) {
  const int64_t begin = group.begin + chunk * kChunkTerms;
  const int64_t end = begin + kChunkTerms < group.end ? begin + kChunkTerms : group.end;
  return targets.chunk_sums[slot_of(begin, end) * targets.columns + column];
}

template <class Out>
__device__ __forceinline__ void write_total(const SumTargets<Out>& targets, const LongGroup& group,
                                            int64_t column, double total) {
  targets.out[group.group * targets.out_row_stride + column * targets.out_column_stride] =
      from_fp32<Out>(targets.scaled(static_cast<float>(total), group.end - group.begin));
}

inline constexpr int kJoinWarps = kThreads / kWarp;
inline constexpr int kJoinTogether = 4;                         // chunk sums on their way to a thread
inline constexpr int kJoinChunks = kJoinTogether * kJoinWarps;  // to a block

// One column of a group of few chunks, by one thread. Behind the last chunk its sum is read once more: a condition would become a
// branch round each load.
template <class Out>
__device__ __forceinline__ void join_few(const SumTargets<Out>& targets, const LongGroup& group,
                                         int64_t column) {
  double total = 0;
  for (int64_t first = 0; first < group.chunks; first += kJoinTogether) {
    float sums[kJoinTogether];
#pragma unroll
    for (int k = 0; k < kJoinTogether; ++k) {
      const int64_t chunk = first + k < group.chunks ? first + k : group.chunks - 1;
      sums[k] = read_chunk_sum(targets, group, chunk, column);
    }
#pragma unroll
    for (int k = 0; k < kJoinTogether; ++k) {
      if (first + k < group.chunks) total += static_cast<double>(sums[k]);
    }
  }
  write_total(targets, group, column, total);
}

// A column of a group of many chunks by each lane of the first warp, for which all warps of the block read. All of them call.
template <class Out>
__device__ __forceinline__ void join_many(const SumTargets<Out>& targets, const LongGroup& group,
                                          int64_t column, int warp, float (&sums)[kJoinChunks][kWarp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool has_column = column < targets.columns;
  double total = 0;
  for (int64_t first = 0; first < group.chunks; first += kJoinChunks) {
    for (int k = warp; has_column && k < kJoinChunks && first + k < group.chunks; k += kJoinWarps)
      sums[k][lane] = read_chunk_sum(targets, group, first + k, column);
    __syncthreads();
    for (int k = 0; warp == 0 && has_column && k < kJoinChunks && first + k < group.chunks; ++k)
      total += static_cast<double>(sums[k][lane]);
    __syncthreads();
  }
  if (warp == 0 && has_column) write_total(targets, group, column, total);
}

// The chunk sums of long groups, in double from left to right. Each warp looks for a group and joins it when its chunks are few;
// those of many are joined by all warps together.
template <class Out>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    join_chunks(const __grid_constant__ SumTargets<Out> targets) {
  if (targets.faults != nullptr && *targets.faults > 0) return;
  __shared__ float sums[kJoinChunks][kWarp];
  __shared__ LongGroup found[kJoinWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t stretches = targets.groups.most_terms / kChunkTerms;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * kJoinWarps; first < stretches;
       first += static_cast<int64_t>(gridDim.x) * kJoinWarps) {
    LongGroup own = {-1, 0, 0, 0};
    if (first + warp < stretches) own = find_long_group(targets.groups, first + warp + 1);
    if (lane == 0) found[warp] = own;
    __syncthreads();
    for (int64_t strip = blockIdx.y; strip * kWarp < targets.columns; strip += gridDim.y) {
      const int64_t column = strip * kWarp + lane;
      if (own.group >= 0 && own.chunks <= kJoinChunks && column < targets.columns)
        join_few(targets, own, column);
      for (int k = 0; k < kJoinWarps; ++k) {
        if (found[k].chunks > kJoinChunks) join_many(targets, found[k], column, warp, sums);
      }
    }
    __syncthreads();
  }
}

// Enough blocks to keep the GPU busy to the end, each with several chunks where there are many: it finds them at the same time.
template <int kCount, class Terms, class Out>
cudaError_t launch_sum_chunks(const Terms& terms, const SumTargets<Out>& targets, cudaStream_t stream) {
  constexpr int64_t kMostInX = 0x7FFFFFFF, kMostInY = 0xFFFF;
  const int64_t wanted = multiprocessors() * 32;
  const int64_t packs = ceil_div(targets.columns, kCount);
  SumShape shape;
  shape.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(packs, kWarp))));
  const int64_t strips = ceil_div(packs, shape.lanes);
  const int64_t items = targets.groups.items();
  const int64_t chunks =
      std::clamp<int64_t>(items / wanted * std::min<int64_t>(strips, kMostChunks), 1, kMostChunks);
  shape.chunks = static_cast<int>(chunks);
  shape.neighbours = strips == 1;
  const int64_t blocks = std::min(ceil_div(items, chunks), kMostInX);
  const int64_t strip_blocks = std::clamp<int64_t>(ceil_div(wanted, blocks), 1, std::min(strips, kMostInY));
  return launch_kernel(sum_chunks<kCount, Terms, Out>, grid_of(blocks, strip_blocks), kThreads, 0, stream,
                       terms, targets, shape);
}

// All sums. packed: rows of `In` and of `Out` can be reached in packs of as many columns as 16 bytes of In hold. longest: most terms
// that a group may have.
template <class Terms, class Out>
cudaError_t sum_rows(const Terms& terms, const SumTargets<Out>& targets, bool packed, int64_t longest,
                     cudaStream_t stream) {
  OPENACLNN_CUDA_TRY(packed ? launch_sum_chunks<kLanes<typename Terms::In>>(terms, targets, stream)
                            : launch_sum_chunks<1>(terms, targets, stream));
  if (longest <= kChunkTerms) return cudaSuccess;
  const int64_t stretches = targets.groups.most_terms / kChunkTerms;
  const int64_t blocks = std::clamp<int64_t>(ceil_div(stretches, kJoinWarps), 1, 0x7FFFFFFF);
  const int64_t strips = std::min<int64_t>(ceil_div(targets.columns, kWarp), 0xFFFF);
  return launch_kernel(join_chunks<Out>, grid_of(blocks, strips), kThreads, 0, stream, targets);
}

}  // namespace openaclnn::cuda
