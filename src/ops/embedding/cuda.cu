// Embedding on a GPU: a few neighbouring threads copy a row in the largest words that its addresses allow.
#include <bit>

#include "base/plan_tensor.h"
#include "cuda/fault_scan.cuh"
#include "cuda/loops.cuh"
#include "ops/embedding/plan.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

struct Word16 {
  uint64_t half[2];
};
struct alignas(16) AlignedWord16 {
  uint64_t half[2];
};

// How rows are copied. Strides in bytes.
struct Copy {
  const char* weight;
  char* out;
  int64_t words;  // per row
  int64_t weight_row_stride, weight_word_stride, out_word_stride;
  int lanes;  // threads per row: a power of two
};

__device__ __forceinline__ bool in_table(const EmbeddingPlan& plan, int64_t row) {
  return static_cast<uint64_t>(row) < static_cast<uint64_t>(plan.table_rows);
}

// Checks and counts indices without accessing other tensors: the first step of strict mode.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    scan_indices(const __grid_constant__ EmbeddingPlan plan, const Index* indices, FaultScan* scans) {
  FaultScan mine = FaultScan::none();
  for (int64_t i = thread_number(); i < plan.positions; i += thread_count()) {
    int64_t at[2];
    find_offsets(plan.nest, i, at);
    if (!in_table(plan, static_cast<int64_t>(indices[at[0]]))) mine.add(i);
  }
  mine = join_block(mine);
  if (threadIdx.x == 0) scans[blockIdx.x] = mine;
}

// Copies words [first, words) in steps of `step`, with several loads in flight. A null source means zeros.
template <class Word>
__device__ __forceinline__ void copy_row(const Copy& copy, char* to, const char* from, int64_t first,
                                         int64_t step) {
  constexpr int kTogether = 4;
  for (int64_t w = first; w < copy.words; w += kTogether * step) {
    Word words[kTogether] = {};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int64_t at = w + k * step;
      if (from != nullptr && at < copy.words)
        words[k] = *reinterpret_cast<const Word*>(from + at * copy.weight_word_stride);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int64_t at = w + k * step;
      if (at < copy.words) *reinterpret_cast<Word*>(to + at * copy.out_word_stride) = words[k];
    }
  }
}

// Blocks along x share the rows, blocks along y the words of rows. faults: nullptr, or a count; if it is
// above 0, nothing is written. scans: nullptr, or where each block stores its results.
template <class Index, class Word>
__global__ void __launch_bounds__(kThreads)
    copy_rows(const __grid_constant__ EmbeddingPlan plan, const __grid_constant__ Copy copy,
              const Index* indices, const int64_t* faults, FaultScan* scans) {
  if (faults != nullptr && *faults > 0) return;
  const int lane = static_cast<int>(threadIdx.x) % copy.lanes;
  const int64_t rows_together = kThreads / copy.lanes;
  const int64_t first_word = static_cast<int64_t>(blockIdx.y) * copy.lanes + lane;
  FaultScan mine = FaultScan::none();
  for (int64_t i = blockIdx.x * rows_together + threadIdx.x / copy.lanes; i < plan.positions;
       i += gridDim.x * rows_together) {
    int64_t at[2];
    find_offsets(plan.nest, i, at);
    const int64_t row = static_cast<int64_t>(indices[at[0]]);
    const bool valid = in_table(plan, row);
    if (!valid && first_word == 0) mine.add(i);
    copy_row<Word>(copy, copy.out + at[1] * plan.element_bytes,
                   valid ? copy.weight + row * copy.weight_row_stride : nullptr, first_word,
                   static_cast<int64_t>(gridDim.y) * copy.lanes);
  }
  if (scans == nullptr) return;
  mine = join_block(mine);
  if (threadIdx.x == 0) scans[static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = mine;
}

// Returns the size of the largest word with which contiguous rows can be copied.
int64_t word_bytes(const EmbeddingPlan& plan, const Copy& copy) {
  uint64_t bits = reinterpret_cast<uintptr_t>(copy.weight) | reinterpret_cast<uintptr_t>(copy.out) |
                  static_cast<uint64_t>(plan.columns * plan.element_bytes) |
                  static_cast<uint64_t>(copy.weight_row_stride);
  for (int k = 0; k < plan.nest.rank; ++k)
    bits |= static_cast<uint64_t>(plan.nest.strides[k][1] * plan.element_bytes);
  return int64_t{1} << std::min(std::countr_zero(bits), 4);
}

template <class Index>
cudaError_t launch(const EmbeddingPlan& plan, const LaunchIo& io) {
  const Index* const indices = plan_tensor<const Index>(plan, io, kEmbeddingIndices);
  Copy copy = {};
  copy.weight = plan_tensor_bytes(plan, io, kEmbeddingWeight, plan.element_bytes);
  copy.out = plan_tensor_bytes(plan, io, kEmbeddingOut, plan.element_bytes);
  copy.weight_row_stride = plan.weight_row_stride * plan.element_bytes;
  const bool is_dense = plan.out_column_stride == 1 && plan.weight_column_stride == 1;
  const int64_t bytes = is_dense ? word_bytes(plan, copy) : plan.element_bytes;
  copy.words = plan.columns * plan.element_bytes / bytes;
  copy.weight_word_stride = is_dense ? bytes : plan.weight_column_stride * bytes;
  copy.out_word_stride = is_dense ? bytes : plan.out_column_stride * bytes;
  copy.lanes =
      static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(copy.words, kThreads))));

  FaultScan* const scans = workspace_part<FaultScan>(io, plan.scans);
  int64_t* const faults = workspace_part<int64_t>(io, plan.faults);
  const bool strict = io.check == CheckMode::strict;
  const auto report = [&](int64_t blocks) {
    const IndexRange<2> range = {plan.nest, plan.positions, plan.table_rows};
    return launch_kernel(report_indices<Index, 2>, grid_of(1), kThreads, 0, io.stream, range, indices, scans,
                         blocks, strict, faults, io.fault);
  };
  if (strict) {
    const int64_t blocks = std::min(blocks_for(plan.positions), kMostScanBlocks);
    OPENACLNN_CUDA_TRY(
        launch_kernel(scan_indices<Index>, grid_of(blocks), kThreads, 0, io.stream, plan, indices, scans));
    OPENACLNN_CUDA_TRY(report(blocks));
  }

  // If there are few rows, their words are also distributed.
  const int64_t most_blocks = std::min(blocks_for(INT64_MAX), kMostScanBlocks);
  const int64_t row_blocks = std::min(ceil_div(plan.positions, kThreads / copy.lanes), most_blocks);
  const int64_t word_blocks = std::clamp<int64_t>(most_blocks / row_blocks, 1,
                                                  std::min<int64_t>(ceil_div(copy.words, copy.lanes), 65535));
  const bool reports = io.check == CheckMode::report;
  const auto copy_with = [&](auto word) {
    return launch_kernel(copy_rows<Index, decltype(word)>, grid_of(row_blocks, word_blocks), kThreads, 0,
                         io.stream, plan, copy, indices, strict ? faults : nullptr,
                         reports ? scans : nullptr);
  };
  const auto copy_all = [&] {
    switch (bytes) {
      case 1: return copy_with(uint8_t());
      case 2: return copy_with(uint16_t());
      case 4: return copy_with(uint32_t());
      case 8: return copy_with(uint64_t());
      default: return is_dense ? copy_with(AlignedWord16()) : copy_with(Word16());
    }
  };
  OPENACLNN_CUDA_TRY(copy_all());
  return reports ? report(row_blocks * word_blocks) : cudaSuccess;
}

}  // namespace

cudaError_t launch_embedding(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmbeddingPlan*>(opaque_plan);
  return plan.index_dtype == ACL_INT32 ? launch<int32_t>(plan, io) : launch<int64_t>(plan, io);
}

}  // namespace openaclnn::cuda
