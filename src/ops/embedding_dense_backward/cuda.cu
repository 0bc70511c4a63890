// EmbeddingDenseBackward on a GPU: sorts positions by row, so that the rows of the table are groups of terms,
// and sums these groups (cuda/rows.cuh). Every row of the table is written once.
#include <bit>

#include "base/fault_value.h"
#include "base/index_values.h"
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "cuda/fault_scan.cuh"
#include "cuda/loops.cuh"
#include "cuda/rows.cuh"
#include "cuda/sort.cuh"
#include "ops/embedding_dense_backward/plan.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

// Reads every index once and stores its row in the workspace, so that indices that change later cannot cause
// an out-of-bounds access. Positions that are skipped get a row after the table.
template <class Word, class Index>
__global__ void __launch_bounds__(kThreads)
    decode_indices(const __grid_constant__ EmbeddingBackwardPlan plan, const Index* indices, Word* keys,
                   Word* positions, FaultScan* scans) {
  FaultScan mine = FaultScan::none();
  for (int64_t i = thread_number(); i < plan.positions; i += thread_count()) {
    int64_t at[1];
    find_offsets(plan.index_nest, i, at);
    int64_t row = 0;
    const bool valid = index_value(indices[at[0]], row) &&
                       static_cast<uint64_t>(row) < static_cast<uint64_t>(plan.table_rows);
    if (!valid) mine.add(i);
    keys[i] = static_cast<Word>(valid && row != plan.padding_row ? row : plan.table_rows);
    positions[i] = static_cast<Word>(i);
  }
  mine = join_block(mine);
  if (threadIdx.x == 0) scans[blockIdx.x] = mine;
}

// Runs as one block: combines the results of all blocks into the fault, and sets `faults` to their number.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    report_faults(const __grid_constant__ EmbeddingBackwardPlan plan, const Index* indices,
                  const FaultScan* scans, int64_t blocks, EmbeddingBackwardFaultKind kind, int64_t* faults,
                  Fault* fault) {
  const FaultScan found = join_blocks(scans, blocks);
  if (threadIdx.x != 0) return;
  *faults = found.count;
  if (found.count == 0) return;
  int64_t at[1];
  find_offsets(plan.index_nest, found.lowest, at);
  show_element(indices[at[0]], *fault);
  fault->position = found.lowest;
  fault->limit = plan.table_rows;
  fault->total = plan.positions;
  fault->kind = kind;
  fault->count = found.count;
}

// ends[w]: the number of sorted keys that are at most w. rows[k]: the start of the row of grad at sorted
// position k, in elements.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    find_terms(const __grid_constant__ EmbeddingBackwardPlan plan, const Word* sorted_keys,
               const Word* sorted_positions, int64_t* ends, int64_t* rows) {
  for (int64_t k = thread_number(); k < plan.positions; k += thread_count()) {
    int64_t at[1];
    find_offsets(plan.grad_row_nest, static_cast<int64_t>(sorted_positions[k]), at);
    rows[k] = at[0];
  }
  for (int64_t row = thread_number(); row < plan.table_rows; row += thread_count()) {
    ends[row] =
        first_where(0, plan.positions, [&](int64_t k) { return static_cast<int64_t>(sorted_keys[k]) > row; });
  }
}

// The terms: rows of grad in the order of the sorted positions.
template <class T>
struct GradRows {
  using In = T;
  const T* grad;
  const int64_t* rows;

  __device__ __forceinline__ const T* row(int64_t, int64_t term) const { return grad + rows[term]; }
};

struct Sorted {
  const int64_t *ends, *rows;
  const int64_t* faults;  // nullptr if faulty indices do not matter
};

template <class Word>
cudaError_t sort(const EmbeddingBackwardPlan& plan, const LaunchIo& io, Sorted& sorted) {
  const EmbeddingBackwardGpuScratch& scratch = plan.gpu_scratch;
  SortBuffers<Word> buffers;
  for (size_t k = 0; k < 2; ++k) {
    buffers.keys[k] = workspace_part<Word>(io, scratch.keys[k]);
    buffers.positions[k] = workspace_part<Word>(io, scratch.positions[k]);
  }
  FaultScan* const scans = workspace_part<FaultScan>(io, scratch.scans);
  int64_t* const faults = workspace_part<int64_t>(io, scratch.faults);
  const bool strict = io.check == CheckMode::strict;
  const int64_t blocks = std::min(blocks_for(plan.positions), kMostScanBlocks);
  cudaError_t error = cudaSuccess;
  with_index_type(plan.index_dtype, [&](auto type) {
    using Index = decltype(type);
    const Index* const indices = plan_tensor<const Index>(plan, io, kGradIndices);
    error = launch_kernel(decode_indices<Word, Index>, grid_of(blocks), kThreads, 0, io.stream, plan, indices,
                          buffers.keys[0], buffers.positions[0], scans);
    if (error != cudaSuccess || io.check == CheckMode::silent) return;
    error = launch_kernel(report_faults<Index>, grid_of(1), kThreads, 0, io.stream, plan, indices, scans,
                          blocks, strict ? kTableUntouched : kIndicesSkipped, faults, io.fault);
  });
  OPENACLNN_CUDA_TRY(error);

  const int key_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(plan.table_rows)));
  int result = 0;
  OPENACLNN_CUDA_TRY(sort_positions(buffers, plan.positions, key_bits, workspace_part<void>(io, scratch.sort),
                                    io.stream, result));
  int64_t* const ends = workspace_part<int64_t>(io, scratch.ends);
  int64_t* const rows = workspace_part<int64_t>(io, scratch.rows);
  sorted = {ends, rows, strict ? faults : nullptr};
  return launch_kernel(find_terms<Word>, grid_of(blocks_for(std::max(plan.table_rows, plan.positions))),
                       kThreads, 0, io.stream, plan, buffers.keys[result], buffers.positions[result], ends,
                       rows);
}

template <class In, class Out>
cudaError_t write_table(const EmbeddingBackwardPlan& plan, const LaunchIo& io, const Sorted& sorted) {
  const In* const grad = plan_tensor<const In>(plan, io, kGradRows);
  Out* const out = plan_tensor<Out>(plan, io, kGradTable);
  SumTargets<Out> targets = {};
  targets.groups = {sorted.ends, 0, plan.table_rows, plan.positions};
  targets.columns = plan.columns;
  targets.in_column_stride = plan.grad_column_stride;
  targets.out = out;
  targets.out_row_stride = plan.out_row_stride;
  targets.out_column_stride = plan.out_column_stride;
  targets.superblock_sums = workspace_part<float>(io, plan.gpu_scratch.superblock_sums);
  targets.scales = plan.scale_by_frequency;
  targets.faults = sorted.faults;

  constexpr int kCount = kLanes<In>;
  bool packed = can_pack<kCount>(grad, plan.grad_column_stride, plan.columns, {}) &&
                can_pack<kCount>(out, plan.out_column_stride, plan.columns, {plan.out_row_stride});
  for (int k = 0; k < plan.grad_row_nest.rank; ++k)
    packed = packed && plan.grad_row_nest.strides[k][0] % kCount == 0;
  const GradRows<In> rows = {grad, sorted.rows};
  return sum_rows(rows, targets, packed, plan.positions, io.stream);
}

}  // namespace

cudaError_t launch_embedding_dense_backward(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmbeddingBackwardPlan*>(opaque_plan);
  Sorted sorted = {};  // without positions every group is empty
  if (plan.positions > 0)
    OPENACLNN_CUDA_TRY(plan.gpu_scratch.wide ? sort<uint64_t>(plan, io, sorted)
                                             : sort<uint32_t>(plan, io, sorted));
  return with_float_type(plan.grad_dtype, [&](auto grad_type) {
    return with_float_type(plan.out_dtype, [&](auto out_type) {
      return write_table<decltype(grad_type), decltype(out_type)>(plan, io, sorted);
    });
  });
}

}  // namespace openaclnn::cuda
