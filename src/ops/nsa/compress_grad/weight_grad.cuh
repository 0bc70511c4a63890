// NsaCompressGrad on a GPU: weightGrad, and the data that it shares with inputGrad. The order of additions of
// weightGrad is specific to this kernel and depends only on shapes, lengths and the dtype.
#pragma once

#include <bit>

#include "base/storage_types.h"
#include "ops/nsa/compress_grad/plan.h"
#include "ops/nsa/windows_cuda.cuh"

namespace openaclnn::cuda {

template <class T>
struct Gradient {
  CompressionSizes sizes;
  const Sequence* sequences;
  HeadTensor<const T> output_grad, input;
  WeightTensor<const T> weight;
  HeadTensor<T> input_grad;
  WeightTensor<T> weight_grad;
  int64_t stretches;  // those of the first columns come first
  int64_t windows_of_stretch;
  double* weight_sums;  // [stretches, N, L]
};

// The tokens of a sequence are processed in segments of one stride. The token at phase p of segment s belongs
// to the windows s, s - 1, ... with the weights p, p + stride, ... A block sums the weights of kPhases
// neighbouring phases and kWindows such windows. A thread thus reads and widens each token once for all of
// them.
template <int kWindowsOfGroup, int kPhasesOfGroup>
struct TapGroup {
  static constexpr int kWindows = kWindowsOfGroup;
  static constexpr int kPhases = kPhasesOfGroup;
  static constexpr int kSums = kWindows * kPhases;
  static constexpr int kTogether = 16 / kWindows;  // tokens in flight per thread, as registers allow

  int64_t phase;   // the first phase
  int64_t window;  // the first window, counted backwards from the segment's own window
  int windows;     // windows that have weights; below 1: the group has none

  __device__ __forceinline__ static TapGroup at(const CompressionSizes& sizes, int64_t number) {
    int64_t rest = 0;
    const int64_t phase_groups = groups_of_phases(sizes);
    const int64_t window = divide(number, phase_groups, rest) * kWindows;
    const int64_t phase = rest * kPhases;
    const int64_t windows = overlapping_windows(sizes, phase) - window;
    return {phase, window, static_cast<int>(windows < kWindows ? windows : kWindows)};
  }
  // Returns how many neighbouring tokens of a segment may be read if window `first` is the first that exists.
  // Tokens that belong to no window may not exist. The sums to which they would be added are not used.
  __device__ __forceinline__ int tokens(const CompressionSizes& sizes, int first) const {
    const int64_t of_window = sizes.block_size - phase - (window + first) * sizes.stride;
    const int64_t of_segment = sizes.stride - phase;
    const int64_t tokens = of_window < of_segment ? of_window : of_segment;
    return static_cast<int>(tokens < kPhases ? tokens : kPhases);
  }
  OPENACLNN_INLINE static int64_t groups_of_phases(const CompressionSizes& sizes) {
    const int64_t phases = sizes.stride < sizes.block_size ? sizes.stride : sizes.block_size;
    return (phases + kPhases - 1) / kPhases;
  }
  OPENACLNN_INLINE static int64_t count(const CompressionSizes& sizes) {
    return groups_of_phases(sizes) * ((overlapping_windows(sizes) + kWindows - 1) / kWindows);
  }
};

inline constexpr int kWidened = 2;  // tokens that a thread holds in fp32 at a time

// How the threads of a block share heads and columns, and how many groups of taps the blocks share.
struct TapShape {
  int lanes;  // threads per head: a power of two
  int64_t groups;
};

// 16 bytes of columns, as Stored<T, kLanes<T>>.
using Words = Pack<uint32_t, 4>;

// Reads neighbouring columns, of which `columns` exist; the others are +0. kPacked does not change bits.
template <bool kPacked, class T>
__device__ __forceinline__ Words read_columns(const T* at, int64_t column_stride, int64_t columns) {
  if constexpr (kPacked) return load_stored<kLanes<T>>(at);
  Pack<T, kLanes<T>> pack = {};
#pragma unroll
  for (int k = 0; k < kLanes<T>; ++k) {
    if (k < columns) pack.lane[k] = at[k * column_stride];
  }
  return std::bit_cast<Words>(pack);
}

// The dot product of a token and a gradient. Only this sum is added to those of other windows, so each
// product takes part in few additions.
template <int kCount>
__device__ __forceinline__ float dot(const float (&a)[kCount], const float (&b)[kCount]) {
  float sum = a[0] * b[0];
#pragma unroll
  for (int k = 1; k < kCount; ++k) sum = multiply_add(a[k], b[k], sum);
  return sum;
}

// The columns of a head that a thread processes at a time.
template <bool kPacked, class T>
struct ThreadColumns {
  static constexpr bool kIsPacked = kPacked;

  int64_t head, first, left;

  __device__ __forceinline__ Words read(const HeadTensor<const T>& tensor, const T* at) const {
    return read_columns<kPacked>(at, tensor.column, left);
  }
  __device__ __forceinline__ const T* at(const HeadTensor<const T>& tensor, int64_t index) const {
    return tensor.at(index, head, first);
  }
};

// A group's part of a segment: its first `tokens` tokens may be read, and its windows [first, last] exist.
struct Segment {
  int tokens, first, last;
};

// Adds the products of a segment. kAll: the group has all its tokens and windows. x: the first token.
template <bool kAll, class Group, class Columns, class T>
__device__ __forceinline__ void add_segment(const Segment& segment, const Columns& columns,
                                            const HeadTensor<const T>& input, const T* x,
                                            const float (&gradients)[Group::kWindows][kLanes<T>],
                                            float (&sums)[Group::kWindows][Group::kPhases]) {
  // Loads of single columns are already numerous.
  constexpr int kTogether = Columns::kIsPacked ? Group::kTogether : kWidened;
#pragma unroll
  for (int begin = 0; begin < Group::kPhases; begin += kTogether) {
    if (!kAll && begin >= segment.tokens) break;
    // A condition per token would be a branch around each load, so the last token is read again instead.
    Words packs[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      packs[i] = columns.read(input, x);
      if (kAll || begin + i + 1 < segment.tokens) x += input.row;
    }
#pragma unroll
    for (int i = 0; i < kTogether; i += kWidened) {
      if (!kAll && begin + i >= segment.tokens) break;
      float wide[kWidened][kLanes<T>];
#pragma unroll
      for (int t = 0; t < kWidened; ++t) widen<T, kLanes<T>>(packs[i + t], wide[t]);
#pragma unroll
      for (int j = 0; j < Group::kWindows; ++j) {
        // A gradient of zero instead would turn infinite tokens into NaN.
        if (!kAll && (j < segment.first || j > segment.last)) continue;
#pragma unroll
        for (int t = 0; t < kWidened; ++t) sums[j][begin + i + t] += dot(gradients[j], wide[t]);
      }
    }
  }
}

// Adds the products of `windows` neighbouring windows of a sequence. gradient: of the first window. x: the
// token of the group's first tap in it. (The code keeps few sizes and positions, because registers limit this
// kernel.)
//
// The last segments, which have tokens of these windows but begin behind the first token of the last one, come
// first. The next stretch begins with the same tokens at the same time, so memory is read only once for both.
template <class Group, class Columns, class T>
__device__ __forceinline__ void add_windows(const Gradient<T>& g, const Group& group, const Columns& columns,
                                            int windows, const T* gradient, const T* x,
                                            float (&sums)[Group::kWindows][Group::kPhases]) {
  constexpr int kWindows = Group::kWindows;
  float gradients[kWindows][kLanes<T>] = {};
  // The windows before segment `windows`.
#pragma unroll
  for (int j = 0; j + 1 < kWindows; ++j) {
    if (j < windows && group.windows > 1)
      widen<T, kLanes<T>>(columns.read(g.output_grad, gradient + (windows - 1 - j) * g.output_grad.row),
                          gradients[j]);
  }
  const auto start = [&] { return group.windows > 1 ? windows : 0; };
  int k = start();
  do {
#pragma unroll
    for (int j = kWindows - 1; j > 0; --j) {
#pragma unroll
      for (int c = 0; c < kLanes<T>; ++c) gradients[j][c] = gradients[j - 1][c];
    }
    if (k < windows)
      widen<T, kLanes<T>>(columns.read(g.output_grad, gradient + k * g.output_grad.row), gradients[0]);
    const int first = k < windows ? 0 : k - windows + 1;
    const Segment segment = {group.tokens(g.sizes, first), first, k < group.windows ? k : group.windows - 1};
    const bool all = segment.tokens == Group::kPhases && first == 0 && segment.last == kWindows - 1;
    const T* const at = x + k * g.sizes.stride * g.input.row;
    if (Columns::kIsPacked && all) {
      add_segment<true, Group>(segment, columns, g.input, at, gradients, sums);
    } else {
      add_segment<false, Group>(segment, columns, g.input, at, gradients, sums);
    }
    if (++k == windows + group.windows - 1) k = 0;
  } while (k != start());
}

// A stretch of windows may span several sequences.
template <class Group, class Columns, class T>
__device__ __forceinline__ void add_stretch(const Gradient<T>& g, const Group& group, const Columns& columns,
                                            int64_t stretch, float (&sums)[Group::kWindows][Group::kPhases]) {
  const CompressionSizes& sizes = g.sizes;
  const int64_t begin = stretch * g.windows_of_stretch;
  const int64_t most = sizes.windows - begin;
  const auto count = static_cast<int>(g.windows_of_stretch < most ? g.windows_of_stretch : most);
  int64_t sequence = sequence_of_window(sizes, g.sequences, begin);
  for (int done = 0; done < count; ++sequence) {
    const Sequence s = g.sequences[sequence];
    const int64_t window = begin + done;
    const int64_t left = s.first_window + s.windows - window;
    const int windows = left < count - done ? static_cast<int>(left) : count - done;
    const int64_t token = first_token_of(sizes, s, window + group.window) + group.phase;
    add_windows(g, group, columns, windows, columns.at(g.output_grad, window), columns.at(g.input, token),
                sums);
    done += windows;
  }
}

// Adds each tap of the block's heads over a head's threads, in double and in their order. A warp processes a
// head, its lanes the taps.
template <class Group, class T>
__device__ __forceinline__ void join_threads(const Gradient<T>& g, const Group& group, int lanes,
                                             int64_t first_head, int64_t stretch,
                                             const float (&sums)[kThreads][Group::kSums + 1]) {
  const CompressionSizes& sizes = g.sizes;
  for (int k = static_cast<int>(threadIdx.x); k < kThreads / lanes * Group::kSums; k += kThreads) {
    const int own = k % Group::kSums;
    const int64_t head = first_head + k / Group::kSums;
    const int64_t phase = group.phase + own % Group::kPhases;
    const int window = own / Group::kPhases;
    if (head >= sizes.heads || window >= group.windows || phase >= sizes.stride) continue;
    const int64_t tap = (group.window + window) * sizes.stride + phase;
    if (tap >= sizes.block_size) continue;
    double sum = 0;
    for (int l = 0; l < lanes; ++l) sum += static_cast<double>(sums[k / Group::kSums * lanes + l][own]);
    g.weight_sums[(stretch * sizes.heads + head) * sizes.block_size + tap] = sum;
  }
}

// Blocks along x share groups of taps and heads, those along y and z the stretches of windows. A thread adds
// the products of its columns window by window. At the end the sums of a head's threads are added in double.
template <class Group, bool kPacked, class T>
__global__ void __launch_bounds__(kThreads, kPacked ? kBlocksWithRegisters : 1)
    sum_weight_grad(const __grid_constant__ Gradient<T> g, TapShape shape) {
  __shared__ float shared[kThreads][Group::kSums + 1];  // odd, so that threads write to different banks
  const int64_t stretch = static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const Group group = Group::at(g.sizes, blockIdx.x % shape.groups);
  if (stretch >= g.stretches || group.windows < 1) return;
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int64_t first_head = blockIdx.x / shape.groups * (kThreads / shape.lanes);
  const int64_t head = first_head + threadIdx.x / shape.lanes;
  float sums[Group::kWindows][Group::kPhases] = {};
  if (head < g.sizes.heads) {
    for (int64_t column = lane * kLanes<T>; column < g.sizes.columns; column += shape.lanes * kLanes<T>) {
      const ThreadColumns<kPacked, T> columns = {head, column, g.sizes.columns - column};
      add_stretch(g, group, columns, stretch, sums);
    }
  }
#pragma unroll
  for (int k = 0; k < Group::kSums; ++k)
    shared[threadIdx.x][k] = sums[k / Group::kPhases][k % Group::kPhases];
  __syncthreads();
  join_threads(g, group, shape.lanes, first_head, stretch, shared);
}

// The stretches have this many parts; a block joins a warp's width of weights.
inline constexpr int kJoinParts = kThreads / kWarp;

// Each warp adds a part of the stretches, in order and with several loads in flight. Then the parts are added.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    join_weight_sums(const __grid_constant__ Gradient<T> g) {
  constexpr int kTogether = 16;
  __shared__ double of_part[kJoinParts][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int part = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t weights = g.sizes.block_size * g.sizes.heads;
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarp + lane;
  const int64_t share = ceil_div(g.stretches, static_cast<int64_t>(kJoinParts));
  const int64_t end = std::min<int64_t>((part + 1) * share, g.stretches);
  double total = 0;
  for (int64_t first = part * share; k < weights && first < end; first += kTogether) {
    const int count = static_cast<int>(std::min<int64_t>(end - first, kTogether));
    double sums[kTogether] = {};
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (i < count) sums[i] = g.weight_sums[(first + i) * weights + k];
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (i < count) total += sums[i];
    }
  }
  of_part[part][lane] = total;
  __syncthreads();
  if (part > 0 || k >= weights) return;
  for (int other = 1; other < kJoinParts; ++other) total += of_part[other][lane];
  int64_t i = 0;
  const int64_t head = divide(k, g.sizes.block_size, i);
  *g.weight_grad.at(i, head) = from_fp32<T>(static_cast<float>(total));
}

template <class Group, class T>
cudaError_t launch_weight_sums(const Gradient<T>& g, cudaStream_t stream) {
  constexpr int kCount = kLanes<T>;
  const CompressionSizes& sizes = g.sizes;
  const int64_t packs = ceil_div(sizes.columns, kCount);
  const auto lanes =
      static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(packs, kThreads))));
  const TapShape shape = {lanes, Group::count(sizes)};
  const int64_t blocks = ceil_div(sizes.heads, kThreads / lanes) * shape.groups;
  const bool packed =
      can_pack<kCount>(g.output_grad, sizes.columns) && can_pack<kCount>(g.input, sizes.columns);
  const auto kernel = packed ? sum_weight_grad<Group, true, T> : sum_weight_grad<Group, false, T>;
  dim3 grid = grid_of(blocks, std::min<int64_t>(g.stretches, 0xFFFF));
  grid.z = static_cast<unsigned>(ceil_div(g.stretches, 0xFFFF));
  return launch_kernel(kernel, grid, kThreads, 0, stream, g, shape);
}

template <class T>
cudaError_t launch_weight_grad(const Gradient<T>& g, cudaStream_t stream) {
  const bool few = overlapping_windows(g.sizes) <= 2;
  // Nearly always once. More columns in one launch would be more additions in fp32, and choosing columns in the
  // kernel would take registers that it does not have.
  Gradient<T> part = g;
  part.stretches = g.stretches / ceil_div(g.sizes.columns, kColumnsOfStretch);
  for (int64_t first = 0; first < g.sizes.columns; first += kColumnsOfStretch) {
    part.sizes.columns = std::min(g.sizes.columns - first, kColumnsOfStretch);
    part.output_grad.base = g.output_grad.base + first * g.output_grad.column;
    part.input.base = g.input.base + first * g.input.column;
    part.weight_sums =
        g.weight_sums + first / kColumnsOfStretch * part.stretches * g.sizes.heads * g.sizes.block_size;
    OPENACLNN_CUDA_TRY(few ? launch_weight_sums<TapGroup<2, 16>>(part, stream)
                           : launch_weight_sums<TapGroup<4, 8>>(part, stream));
  }
  const int64_t blocks = ceil_div(g.sizes.block_size * g.sizes.heads, static_cast<int64_t>(kWarp));
  return launch_kernel(join_weight_sums<T>, grid_of(blocks), kThreads, 0, stream, g);
}

}  // namespace openaclnn::cuda
