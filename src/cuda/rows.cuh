// Sums of rows on the device in the library's one order of additions (base/sum_order.h), shared by every operator that adds rows.
//
// Rows are the terms of sums, numbered consecutively over all groups. The unit of work is a superblock of the
// order of additions: superblock c of group g is item begin(g) / 512 + g + c. These numbers ascend, and their
// limit is known without knowing the groups. The grid is therefore balanced for any group sizes, and a thread
// finds its superblock by a short binary search. One worker, the few threads that share a row, sums a
// superblock of one block of terms. Eight workers sum a longer one, one block of terms each. Sums of groups
// of one superblock are written directly. Superblock sums of longer groups go to the workspace. The CUDA block
// that completes the last one of a group adds them in double.
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

// Returns a number for a group of more than one superblock, which no other such group has: they start at least
// kSuperblockTerms terms apart.
__device__ __forceinline__ int64_t number_of_long_group(int64_t begin) {
  return (begin + kSuperblockTerms - 1) / kSuperblockTerms;
}

static_assert(kLeastStripColumns == kWarp);

// The number of counters in SumTargets::arrivals.
OPENACLNN_INLINE int64_t arrivals_of(int64_t most_terms, int64_t columns) {
  return (most_terms / kSuperblockTerms + 1) * ceil_div(columns, kLeastStripColumns);
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
  // Superblock sums that are complete, for each long group and strip; 0 at first. nullptr: there are no long
  // groups.
  unsigned* arrivals;
  bool scales;            // whether to multiply by one over the number of terms
  const int64_t* faults;  // nullptr, or a count; if it is above 0, nothing is written
  // The row of each group that has terms; groups without terms are not written. nullptr: group k is row k, and
  // a group without terms becomes +0.
  const int64_t* out_rows;

  __device__ __forceinline__ Out* at(int64_t group, int64_t column) const {
    const int64_t row = out_rows != nullptr ? out_rows[group] : group;
    return out + row * out_row_stride + column * out_column_stride;
  }

  // Scales an fp32 sum.
  __device__ __forceinline__ float scaled(float sum, int64_t terms) const {
    return scales && terms > 0 ? (1.0f / static_cast<float>(terms)) * sum : sum;
  }
};

// Columns of a row that a thread sums: kStrips packs of kCount columns, `distance` columns apart. The packs
// from `strips` on do not exist.
template <int kStrips>
struct ThreadStrips {
  int64_t first;
  int64_t distance;
  int strips;

  // Packs that do not exist are read as the first one, because a condition would become a branch around each
  // load.
  __device__ __forceinline__ int64_t column(int strip) const {
    return strip < strips ? first + strip * distance : first;
  }
};

// Adds `count` terms, at most the size of `rows`, from left to right.
template <bool kAll, int kTerms, int kCount, int kStrips, class Cursor>
__device__ __forceinline__ void add_terms(Cursor& cursor, int count, const int64_t (&offsets)[kStrips],
                                          float (&sums)[kStrips][kCount]) {
  using In = typename Cursor::In;
  Stored<In, kCount> packs[kTerms][kStrips];
#pragma unroll
  for (int i = 0; i < kTerms; ++i) {
    if (kAll || i < count) {
      const In* const row = cursor.next();
#pragma unroll
      for (int s = 0; s < kStrips; ++s) packs[i][s] = load_stored<kCount>(row + offsets[s]);
    }
  }
#pragma unroll
  for (int i = 0; i < kTerms; ++i) {
    if (!kAll && i >= count) break;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      float wide[kCount];
      widen<In, kCount>(packs[i][s], wide);
#pragma unroll
      for (int c = 0; c < kCount; ++c) sums[s][c] += wide[c];
    }
  }
}

// Adds terms [begin, end) of one block of terms from left to right, with several loads in flight. Terms
// provides cursor(group, term), whose next() returns the address of the first column of a term, and goes to
// the term after it.
template <int kCount, int kStrips, class Terms>
__device__ __forceinline__ void add_term_block(const Terms& terms, int64_t group, int64_t begin, int64_t end,
                                               const ThreadStrips<kStrips>& strips, int64_t column_stride,
                                               float (&sums)[kStrips][kCount]) {
  constexpr int kTerms = Terms::kPacks / kStrips;
  int64_t offsets[kStrips];
#pragma unroll
  for (int s = 0; s < kStrips; ++s) offsets[s] = strips.column(s) * column_stride;
  auto cursor = terms.cursor(group, begin);
  int left = static_cast<int>(end - begin);
  for (; left >= kTerms; left -= kTerms) add_terms<true, kTerms>(cursor, kTerms, offsets, sums);
  if (left > 0) add_terms<false, kTerms>(cursor, left, offsets, sums);
}

template <int kCount, int kStrips, class Out>
__device__ __forceinline__ void write_sums(const SumTargets<Out>& targets, const TermSuperblock& superblock,
                                           const ThreadStrips<kStrips>& strips,
                                           float (&sums)[kStrips][kCount]) {
  if (!superblock.is_whole) {
    float* const to =
        targets.superblock_sums + superblock_slot(superblock.begin, superblock.end) * targets.columns;
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      if (s < strips.strips) store_pack(sums[s], to + strips.column(s));
    }
    return;
  }
  Out* const to = targets.at(superblock.group, 0);
#pragma unroll
  for (int s = 0; s < kStrips; ++s) {
    if (s >= strips.strips) break;
#pragma unroll
    for (int c = 0; c < kCount; ++c)
      sums[s][c] = targets.scaled(sums[s][c], superblock.end - superblock.begin);
    store_pack(sums[s], to + strips.column(s) * targets.out_column_stride);
  }
}

inline constexpr int kWorkersOfSuperblock = kSuperblockTerms / kBlockTerms;
inline constexpr int kMostSuperblocks = kWarp;  // per CUDA block

// How a launch distributes the work: a worker is `lanes` threads, and a CUDA block has `superblocks`
// superblocks. These are neighbours if rows are narrow, so that a CUDA block accesses contiguous memory.
// Otherwise they are far apart, so that many CUDA blocks share the superblocks of one long group. Blocks along x
// share the strips of the same superblocks, so that the blocks that run at the same time read whole rows.
struct SumShape {
  int lanes;
  int superblocks;
  bool neighbours;
};

// Adds the superblock sums of a group in double from left to right, for `columns` columns from `first` on. All
// threads of the block share the columns. (The sums come from other blocks, and are not in this one's cache.)
template <class Out>
__device__ __forceinline__ void join_superblocks(const SumTargets<Out>& targets, int64_t group, int64_t first,
                                                 int64_t columns) {
  constexpr int kTogether = 16;
  const int64_t begin = targets.groups.begin(group);
  const int64_t end = targets.groups.end(group);
  for (int64_t column = first + threadIdx.x; column < first + columns && column < targets.columns;
       column += kThreads) {
    double total = 0;
    for (int64_t term = begin; term < end; term += kTogether * kSuperblockTerms) {
      float sums[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        // After the last superblock it rereads the first one of this round, because a condition would become a
        // branch around each load.
        const int64_t own = term + k * kSuperblockTerms < end ? term + k * kSuperblockTerms : term;
        const int64_t own_end = own + kSuperblockTerms < end ? own + kSuperblockTerms : end;
        sums[k] = __ldcg(targets.superblock_sums + superblock_slot(own, own_end) * targets.columns + column);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (term + k * kSuperblockTerms < end) total += static_cast<double>(sums[k]);
      }
    }
    *targets.at(group, column) = from_fp32<Out>(targets.scaled(static_cast<float>(total), end - begin));
  }
}

// Counts a superblock of a long group whose sums of a strip are complete. Returns whether it was the last one of
// the group.
template <class Out>
__device__ __forceinline__ bool count_superblock(const SumTargets<Out>& targets, int64_t group, int64_t strip,
                                                 int64_t strips) {
  const int64_t begin = targets.groups.begin(group);
  const int64_t needed = (targets.groups.end(group) - begin + kSuperblockTerms - 1) / kSuperblockTerms;
  unsigned* const arrivals = targets.arrivals + number_of_long_group(begin) * strips + strip;
  const bool is_last = atomicAdd(arrivals, 1u) + 1 == static_cast<unsigned>(needed);
  __threadfence();  // the count before the sums of others
  return is_last;
}

// Counts the superblocks of a strip that a block has completed, those of `mask`, and returns the mask of those
// that were the last of their groups. All threads of the block must call it.
template <class Out>
__device__ __forceinline__ unsigned find_completed(const SumTargets<Out>& targets,
                                                   const TermSuperblock (&superblocks)[kMostSuperblocks],
                                                   unsigned mask, int64_t strip, int64_t strips,
                                                   unsigned& completed) {
  __threadfence();  // the sums before the count
  __syncthreads();
  if (threadIdx.x < kWarp) {
    const bool is_last = (mask >> threadIdx.x & 1) != 0 &&
                         count_superblock(targets, superblocks[threadIdx.x].group, strip, strips);
    const unsigned found = __ballot_sync(kAllLanes, is_last);
    if (threadIdx.x == 0) completed = found;
  }
  __syncthreads();
  return completed;
}

// A thread sums kStrips packs of kCount columns. A pack has one column if rows are not contiguous or not
// aligned.
template <int kCount, int kStrips, class Terms, class Out>
__global__ void __launch_bounds__(kThreads, kCount > 1 ? Terms::kBlocks : kBlocksWithRegisters)
    sum_superblocks(const __grid_constant__ Terms terms, const __grid_constant__ SumTargets<Out> targets,
                    SumShape shape) {
  if (targets.faults != nullptr && *targets.faults > 0) return;
  __shared__ TermSuperblock superblocks[kMostSuperblocks];
  __shared__ unsigned long_superblocks, parts, completed;
  __shared__ float block_sums[kStrips][kThreads][kCount];
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int worker = static_cast<int>(threadIdx.x) / shape.lanes;
  const int workers = kThreads / shape.lanes;
  const int64_t items = targets.groups.items();
  const int64_t blocks = gridDim.y;
  const int64_t distance = shape.neighbours ? 1 : blocks;
  const int64_t strip_columns = static_cast<int64_t>(shape.lanes) * kCount * kStrips;
  const int64_t strips_of_row = ceil_div(targets.columns, strip_columns);
  for (int64_t first = int64_t{blockIdx.y} * (shape.neighbours ? shape.superblocks : 1); first < items;
       first += blocks * shape.superblocks) {
    if (threadIdx.x < kWarp) {
      const int own = static_cast<int>(threadIdx.x);
      int64_t item = first + own * distance;
      // From both ends in turn: short groups may all be at one of them, and leave most of the memory's bandwidth.
      if (!shape.neighbours && item < items) item = item % 2 == 0 ? item / 2 : items - 1 - item / 2;
      TermSuperblock superblock = {-1, 0, 0, false};
      if (own < shape.superblocks && item < items) superblock = find_superblock(targets.groups, item);
      if (targets.out_rows != nullptr && superblock.begin == superblock.end) superblock.group = -1;
      superblocks[own] = superblock;
      const unsigned mask = __ballot_sync(kAllLanes, superblock.end - superblock.begin > kBlockTerms);
      const unsigned of_long_groups = __ballot_sync(kAllLanes, superblock.group >= 0 && !superblock.is_whole);
      if (own == 0) {
        long_superblocks = mask;
        parts = of_long_groups;
      }
    }
    __syncthreads();
    for (int64_t strip = blockIdx.x; strip * strip_columns < targets.columns; strip += gridDim.x) {
      ThreadStrips<kStrips> strips = {strip * strip_columns + lane * kCount, shape.lanes * kCount, 0};
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        strips.strips += strips.first + s * strips.distance < targets.columns ? 1 : 0;
      const bool has_columns = strips.strips > 0;
      for (int k = worker; has_columns && k < shape.superblocks; k += workers) {
        const TermSuperblock superblock = superblocks[k];
        if (superblock.group < 0 || (long_superblocks >> k & 1) != 0) continue;
        float sums[kStrips][kCount] = {};
        add_term_block(terms, superblock.group, superblock.begin, superblock.end, strips,
                       targets.in_column_stride, sums);
        write_sums(targets, superblock, strips, sums);
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
          const int64_t end = begin + kBlockTerms < superblock.end ? begin + kBlockTerms : superblock.end;
          float sums[kStrips][kCount] = {};
          add_term_block(terms, superblock.group, begin, end, strips, targets.in_column_stride, sums);
#pragma unroll
          for (int s = 0; s < kStrips; ++s) {
#pragma unroll
            for (int c = 0; c < kCount; ++c) block_sums[s][threadIdx.x][c] = sums[s][c];
          }
        }
        __syncthreads();
        if (works && term_block == 0) {
          float sums[kStrips][kCount] = {};
          const int64_t count = (superblock.end - superblock.begin + kBlockTerms - 1) / kBlockTerms;
          for (int w = 0; w < count; ++w) {
#pragma unroll
            for (int s = 0; s < kStrips; ++s) {
#pragma unroll
              for (int c = 0; c < kCount; ++c) sums[s][c] += block_sums[s][threadIdx.x + w * shape.lanes][c];
            }
          }
          write_sums(targets, superblock, strips, sums);
        }
        __syncthreads();
      }
      if (parts == 0) continue;
      for (unsigned left = find_completed(targets, superblocks, parts, strip, strips_of_row, completed);
           left != 0; left &= left - 1)
        join_superblocks(targets, superblocks[__ffs(static_cast<int>(left)) - 1].group, strip * strip_columns,
                         strip_columns);
    }
    __syncthreads();
  }
}

// Makes at least Terms::kLeastBlocks blocks for each multiprocessor, if there is as much work: enough to keep
// the GPU busy until the end. Large calls have several superblocks per block, which it finds at the same time.
template <int kCount, int kStrips, class Terms, class Out>
cudaError_t launch_sum_superblocks(const Terms& terms, const SumTargets<Out>& targets, cudaStream_t stream) {
  constexpr int64_t kMostInY = 0xFFFF;
  const int64_t wanted = multiprocessors() * Terms::kLeastBlocks;
  const int64_t packs = ceil_div(targets.columns, kCount);
  SumShape shape;
  shape.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(packs, kWarp))));
  const int64_t strips = ceil_div(packs, shape.lanes * kStrips);
  const int64_t items = targets.groups.items();
  const int64_t superblocks =
      std::clamp<int64_t>(items / wanted * std::min<int64_t>(strips, kMostSuperblocks), 1, kMostSuperblocks);
  shape.superblocks = static_cast<int>(superblocks);
  shape.neighbours = strips == 1;
  const int64_t blocks = std::min(ceil_div(items, superblocks), kMostInY);
  const int64_t strip_blocks = std::clamp<int64_t>(ceil_div(wanted, blocks), 1, strips);
  return launch_kernel(sum_superblocks<kCount, kStrips, Terms, Out>, grid_of(strip_blocks, blocks), kThreads,
                       0, stream, terms, targets, shape);
}

// Computes all sums. packed: rows of `In` and of `Out` can be accessed in packs of as many columns as 16
// bytes of In hold. Terms names what suits its rows: kStrips, kPacks (that a thread loads at the same time),
// kBlocks (that should fit on a multiprocessor) and kLeastBlocks.
template <class Terms, class Out>
cudaError_t sum_rows(const Terms& terms, const SumTargets<Out>& targets, bool packed, cudaStream_t stream) {
  constexpr int kCount = kLanes<typename Terms::In>;
  if (!packed) return launch_sum_superblocks<1, 1>(terms, targets, stream);
  return targets.columns > kWarp * kCount
             ? launch_sum_superblocks<kCount, Terms::kStrips>(terms, targets, stream)
             : launch_sum_superblocks<kCount, 1>(terms, targets, stream);
}

}  // namespace openaclnn::cuda
