// EmbeddingDenseBackward on a GPU: sorts positions by row, so that the positions of a row are a group of terms,
// and sums these groups (cuda/rows.cuh). Beside this, other blocks write zeros to all rows without positions:
// the sort leaves most of the GPU idle. Every row of the table is written once.
#include <bit>

#include "base/index_values.h"
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "cuda/fault_scan.cuh"
#include "cuda/loops.cuh"
#include "cuda/rows.cuh"
#include "cuda/side_stream.h"
#include "cuda/sort.cuh"
#include "ops/embedding_dense_backward/plan.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

// Reads every index once and stores its row in the workspace, so that indices that change later cannot cause
// an out-of-bounds access. Positions that are skipped get a row after the table. The bits of the other rows
// are set in `used`.
template <class Word, class Index>
__global__ void __launch_bounds__(kThreads)
    decode_indices(const __grid_constant__ EmbeddingBackwardPlan plan, const Index* indices, Word* keys,
                   Word* positions, uint32_t* used, FaultScan* scans) {
  FaultScan mine = FaultScan::none();
  for (int64_t i = thread_number(); i < plan.positions; i += thread_count()) {
    int64_t at[1];
    find_offsets(plan.index_nest, i, at);
    int64_t row = 0;
    const bool valid = index_value(indices[at[0]], row) &&
                       static_cast<uint64_t>(row) < static_cast<uint64_t>(plan.table_rows);
    if (!valid) mine.add(i);
    const bool counts = valid && row != plan.padding_row;
    if (counts) atomicOr(used + row / kRowsOfWord, 1u << row % kRowsOfWord);
    keys[i] = static_cast<Word>(counts ? row : plan.table_rows);
    positions[i] = static_cast<Word>(i);
  }
  mine = join_block(mine);
  if (threadIdx.x == 0) scans[blockIdx.x] = mine;
}

// Every sorted position is a group of terms. The first position of a row has all terms of the row, the others
// have none. ends[k]: the end of the group. rows[k]: the start of the row of grad at this position, in
// elements. out_rows[k]: the row of the table.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    find_terms(const __grid_constant__ EmbeddingBackwardPlan plan, const Word* sorted_keys,
               const Word* sorted_positions, int64_t* ends, int64_t* rows, int64_t* out_rows) {
  const auto key_at = [&](int64_t k) { return static_cast<int64_t>(sorted_keys[k]); };
  for (int64_t k = thread_number(); k < plan.positions; k += thread_count()) {
    int64_t at[1];
    find_offsets(plan.grad_row_nest, static_cast<int64_t>(sorted_positions[k]), at);
    rows[k] = at[0];
    const int64_t key = key_at(k);
    out_rows[k] = key;
    if (key < plan.table_rows) {
      // Most rows have few positions.
      int64_t low = k + 1, high = k + 1;
      for (int64_t step = 1; high < plan.positions && key_at(high) == key; step *= 2) {
        low = high + 1;
        high = high + step < plan.positions ? high + step : plan.positions;
      }
      ends[k] = first_where(low, high, [&](int64_t other) { return key_at(other) > key; });
    } else {
      ends[k] = first_where(0, k, [&](int64_t other) { return key_at(other) >= plan.table_rows; });
    }
  }
}

constexpr int kPacksOfThread = 4;

// Writes zeros to the rows whose bits in `used` are not set.
template <int kCount, class Out>
__global__ void __launch_bounds__(kThreads)
    clear_other_rows(const __grid_constant__ EmbeddingBackwardPlan plan, const uint32_t* used, Out* out,
                     const int64_t* faults) {
  if (faults != nullptr && *faults > 0) return;
  const int64_t packs_of_row = plan.columns / kCount;
  const int64_t packs = plan.table_rows * packs_of_row;
  for (int64_t first = int64_t{blockIdx.x} * kThreads * kPacksOfThread + threadIdx.x; first < packs;
       first += thread_count() * kPacksOfThread) {
#pragma unroll
    for (int k = 0; k < kPacksOfThread; ++k) {
      int64_t pack = 0;
      const int64_t row = divide(first + k * kThreads, packs_of_row, pack);
      if (row >= plan.table_rows || (used[row / kRowsOfWord] >> row % kRowsOfWord & 1) != 0) continue;
      store_vectors(Pack<Out, kCount>(),
                    out + row * plan.out_row_stride + pack * kCount * plan.out_column_stride);
    }
  }
}

// The terms: rows of grad in the order of the sorted positions.
template <class T>
struct GradRows {
  static constexpr int kStrips = 4;  // most rows are a group of their own, with one load for each strip
  static constexpr int kPacks = 8;
  static constexpr int kBlocks = 2;
  static constexpr int kLeastBlocks = 8;  // a block finds many rows at the same time

  struct Cursor {
    using In = T;
    const T* grad;
    const int64_t* at;

    __device__ __forceinline__ const T* next() { return grad + *at++; }
  };

  using In = T;
  const T* grad;
  const int64_t* rows;

  __device__ __forceinline__ Cursor cursor(int64_t, int64_t term) const { return {grad, rows + term}; }
};

// Clears rows beside the rest if the table has at least this many bytes. For fewer, two streams cost more
// than they save.
constexpr int64_t kLeastBytesBeside = int64_t{8} << 20;

template <class Word>
SortBuffers<Word> sort_buffers(const EmbeddingBackwardGpuScratch& scratch, const LaunchIo& io) {
  SortBuffers<Word> buffers;
  for (size_t k = 0; k < 2; ++k) {
    buffers.keys[k] = workspace_part<Word>(io, scratch.keys[k]);
    buffers.positions[k] = workspace_part<Word>(io, scratch.positions[k]);
  }
  return buffers;
}

// Reads and checks the indices.
template <class Word>
cudaError_t decode(const EmbeddingBackwardPlan& plan, const LaunchIo& io) {
  const EmbeddingBackwardGpuScratch& scratch = plan.gpu_scratch;
  const SortBuffers<Word> buffers = sort_buffers<Word>(scratch, io);
  FaultScan* const scans = workspace_part<FaultScan>(io, scratch.scans);
  int64_t* const faults = workspace_part<int64_t>(io, scratch.faults);
  uint32_t* const used = workspace_part<uint32_t>(io, scratch.used);
  const bool strict = io.check == CheckMode::strict;
  const int64_t blocks = std::min(blocks_for(plan.positions), kMostScanBlocks);
  OPENACLNN_CUDA_TRY(write_zeros(used, scratch.counters, io.stream));
  cudaError_t error = cudaSuccess;
  with_index_type(plan.index_dtype, [&](auto type) {
    using Index = decltype(type);
    const Index* const indices = plan_tensor<const Index>(plan, io, kGradIndices);
    error = launch_kernel(decode_indices<Word, Index>, grid_of(blocks), kThreads, 0, io.stream, plan, indices,
                          buffers.keys[0], buffers.positions[0], used, scans);
    if (error != cudaSuccess || io.check == CheckMode::silent) return;
    const IndexRange<1> range = {plan.index_nest, plan.positions, plan.table_rows};
    error = launch_kernel(report_indices<Index, 1>, grid_of(1), kThreads, 0, io.stream, range, indices, scans,
                          blocks, strict, faults, io.fault);
  });
  return error;
}

// nullptr if faulty indices do not matter.
const int64_t* faults_that_matter(const EmbeddingBackwardPlan& plan, const LaunchIo& io) {
  return io.check == CheckMode::strict ? workspace_part<int64_t>(io, plan.gpu_scratch.faults) : nullptr;
}

template <class Word>
cudaError_t sort(const EmbeddingBackwardPlan& plan, const LaunchIo& io, cudaStream_t stream) {
  const EmbeddingBackwardGpuScratch& scratch = plan.gpu_scratch;
  const SortBuffers<Word> buffers = sort_buffers<Word>(scratch, io);
  const int key_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(plan.table_rows)));
  int result = 0;
  OPENACLNN_CUDA_TRY(sort_positions(buffers, plan.positions, key_bits, workspace_part<void>(io, scratch.sort),
                                    stream, result));
  return launch_kernel(find_terms<Word>, grid_of(blocks_for(plan.positions)), kThreads, 0, stream, plan,
                       buffers.keys[result], buffers.positions[result],
                       workspace_part<int64_t>(io, scratch.ends), workspace_part<int64_t>(io, scratch.rows),
                       workspace_part<int64_t>(io, scratch.out_rows));
}

template <class In, class Out>
cudaError_t sum_terms(const EmbeddingBackwardPlan& plan, const LaunchIo& io, cudaStream_t stream) {
  const EmbeddingBackwardGpuScratch& scratch = plan.gpu_scratch;
  const In* const grad = plan_tensor<const In>(plan, io, kGradRows);
  Out* const out = plan_tensor<Out>(plan, io, kGradTable);
  SumTargets<Out> targets = {};
  targets.groups = {workspace_part<int64_t>(io, scratch.ends), 0, plan.positions, plan.positions};
  targets.columns = plan.columns;
  targets.in_column_stride = plan.grad_column_stride;
  targets.out = out;
  targets.out_row_stride = plan.out_row_stride;
  targets.out_column_stride = plan.out_column_stride;
  targets.superblock_sums = workspace_part<float>(io, scratch.superblock_sums);
  targets.arrivals = workspace_part<unsigned>(io, scratch.used) + ceil_div(plan.table_rows, kRowsOfWord);
  targets.scales = plan.scale_by_frequency;
  targets.faults = faults_that_matter(plan, io);
  targets.out_rows = workspace_part<int64_t>(io, scratch.out_rows);

  constexpr int kCount = kLanes<In>;
  bool packed = can_pack<kCount>(grad, plan.grad_column_stride, plan.columns, {}) &&
                can_pack<kCount>(out, plan.out_column_stride, plan.columns, {plan.out_row_stride});
  for (int k = 0; k < plan.grad_row_nest.rank; ++k)
    packed = packed && plan.grad_row_nest.strides[k][0] % kCount == 0;
  const GradRows<In> rows = {grad, workspace_part<int64_t>(io, scratch.rows)};
  return sum_rows(rows, targets, packed, stream);
}

template <class Out>
cudaError_t clear_rows(const EmbeddingBackwardPlan& plan, const LaunchIo& io) {
  constexpr int kCount = kLanes<Out>;
  Out* const out = plan_tensor<Out>(plan, io, kGradTable);
  const bool packed = can_pack<kCount>(out, plan.out_column_stride, plan.columns, {plan.out_row_stride});
  const int64_t packs = plan.table_rows * (packed ? plan.columns / kCount : plan.columns);
  const auto kernel = packed ? clear_other_rows<kCount, Out> : clear_other_rows<1, Out>;
  return launch_kernel(kernel, grid_for_all(packs, kPacksOfThread), kThreads, 0, io.stream, plan,
                       workspace_part<const uint32_t>(io, plan.gpu_scratch.used), out,
                       faults_that_matter(plan, io));
}

template <class In, class Out>
cudaError_t launch(const EmbeddingBackwardPlan& plan, const LaunchIo& io) {
  if (plan.positions == 0)
    return write_zeros(plan.out_nest, plan_tensor<Out>(plan, io, kGradTable), io.stream);
  const bool wide = plan.gpu_scratch.wide;
  OPENACLNN_CUDA_TRY(wide ? decode<uint64_t>(plan, io) : decode<uint32_t>(plan, io));
  const int64_t bytes = plan.table_rows * plan.columns * static_cast<int64_t>(sizeof(Out));
  return run_beside(
      io, bytes >= kLeastBytesBeside,
      [&](cudaStream_t side) {
        OPENACLNN_CUDA_TRY(wide ? sort<uint64_t>(plan, io, side) : sort<uint32_t>(plan, io, side));
        return sum_terms<In, Out>(plan, io, side);
      },
      [&] { return clear_rows<Out>(plan, io); });
}

}  // namespace

cudaError_t launch_embedding_dense_backward(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmbeddingBackwardPlan*>(opaque_plan);
  return with_float_type(plan.grad_dtype, [&](auto grad_type) {
    return with_float_type(plan.out_dtype, [&](auto out_type) {
      return launch<decltype(grad_type), decltype(out_type)>(plan, io);
    });
  });
}

}  // namespace openaclnn::cuda
