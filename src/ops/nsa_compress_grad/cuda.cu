// NsaCompressGrad on a GPU: one kernel for inputGrad, which needs no input, and one for weightGrad. They share nothing but
// outputGrad, the smallest tensor, so two passes cost little more than one.
#include <bit>

#include "base/storage_types.h"
#include "ops/nsa_compress_grad/plan.h"
#include "ops/nsa_windows_cuda.cuh"

namespace openaclnn::cuda {

namespace {

template <class T>
struct Gradient {
  CompressionSizes sizes;
  const Sequence* sequences;
  HeadTensor<const T> output_grad, input;
  WeightTensor<const T> weight;
  HeadTensor<T> input_grad;
  WeightTensor<T> weight_grad;
  int64_t stretches;
  int64_t windows_of_stretch;
  double* weight_sums;  // [stretches, L, N]
};

// ---- inputGrad ----

// The windows [first, last] that cover a token; none when last < first. Window `first` meets it with weight `weight`, each further
// one with a weight `stride` rows earlier. The same windows cover the tokens before `until`, with weights that follow.
struct Cover {
  int64_t first, last;
  int64_t weight;
  int64_t until;
};

__device__ __forceinline__ Cover cover_of(const CompressionSizes& sizes, const Sequence* sequences,
                                          int64_t token) {
  const auto first_token = [](const Sequence& s) { return s.first_token; };
  const int64_t sequence = last_sequence_at(sequences, sizes.sequences, first_token, token);
  Cover cover = {0, -1, 0, INT64_MAX};
  if (sequence + 1 < sizes.sequences) cover.until = sequences[sequence + 1].first_token;
  if (sequence < 0) return cover;
  const Sequence& s = sequences[sequence];
  const int64_t position = token - s.first_token;
  int64_t rest = 0;
  const int64_t started = divide(position, sizes.stride, rest);
  const int64_t first =
      position < sizes.block_size ? 0 : divide(position - sizes.block_size, sizes.stride, rest) + 1;
  // Only windows that exist are looked at: behind them products with the stride might not be numbers.
  if (started + 1 < s.windows)
    cover.until = std::min(cover.until, s.first_token + (started + 1) * sizes.stride);
  const int64_t last = started < s.windows ? started : s.windows - 1;
  if (first > last) return cover;
  cover.first = s.first_window + first;
  cover.last = s.first_window + last;
  cover.weight = position - first * sizes.stride;
  cover.until = std::min(cover.until, token - cover.weight + sizes.block_size);
  return cover;
}

// A thread has a pack of columns of a few neighbouring tokens. Nearly always the same windows cover them: then each window's
// gradients are read once. The products of a token are added in ascending order of windows.
template <int kTokens, int kCount, class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    sum_input_grad(const __grid_constant__ Gradient<T> g) {
  const CompressionSizes& sizes = g.sizes;
  const int64_t packs = packs_of_row<kCount>(sizes.heads, sizes.columns);
  const int64_t items = (sizes.tokens + kTokens - 1) / kTokens * packs;
  for (int64_t item = thread_number(); item < items; item += thread_count()) {
    int64_t pack = 0;
    const int64_t token = divide(item, packs, pack) * kTokens;
    const HeadColumns columns = columns_at<kCount>(sizes.columns, pack);
    const int tokens = static_cast<int>(sizes.tokens - token < kTokens ? sizes.tokens - token : kTokens);
    for (int begin = 0; begin < tokens;) {
      const Cover cover = cover_of(sizes, g.sequences, token + begin);
      const int end = cover.until - token < tokens ? static_cast<int>(cover.until - token) : tokens;
      float sums[kTokens][kCount] = {};
      for (int64_t window = cover.first; window <= cover.last; ++window) {
        float gradient[kCount];
        load_pack(columns.at(g.output_grad, window), gradient);
        const int64_t i = cover.weight - (window - cover.first) * sizes.stride;
#pragma unroll
        for (int t = 0; t < kTokens; ++t) {
          if (t < begin || t >= end) continue;
          const float weight = to_fp32(*g.weight.at(i + (t - begin), columns.head));
#pragma unroll
          for (int k = 0; k < kCount; ++k) sums[t][k] += weight * gradient[k];
        }
      }
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        if (t >= begin && t < end) store_pack(sums[t], columns.at(g.input_grad, token + t));
      }
      begin = end;
    }
  }
}

// ---- weightGrad: the order of additions is this kernel's own, and depends on shapes, lengths and the dtype only ----

constexpr int kTaps = 16;  // weights of a head that a block sums, in registers

// How the threads of a block share heads and columns.
struct TapShape {
  int lanes;  // threads of a head: a power of two
};

// kCount neighbouring columns as far as they exist, of which `columns` are left; the others are +0. kPacked changes no bits.
template <bool kPacked, int kCount, class T>
__device__ __forceinline__ Pack<T, kCount> read_columns(const T* at, int64_t column_stride, int64_t columns) {
  if constexpr (kPacked) return *reinterpret_cast<const Pack<T, kCount>*>(at);
  Pack<T, kCount> pack = {};
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if (k < columns) pack.lane[k] = at[k * column_stride];
  }
  return pack;
}

template <int kCount, class T>
__device__ __forceinline__ float dot(const Pack<T, kCount>& a, const Pack<T, kCount>& b) {
  float sum = to_fp32(a.lane[0]) * to_fp32(b.lane[0]);
#pragma unroll
  for (int k = 1; k < kCount; ++k) sum += to_fp32(a.lane[k]) * to_fp32(b.lane[k]);
  return sum;
}

// Blocks along x share taps and heads, blocks along y the stretches of windows. A thread adds the products of its columns window by
// window; those of a head's threads meet in double at the end.
template <bool kPacked, class T>
__global__ void __launch_bounds__(kThreads, kPacked ? kBlocksWithRegisters : 1)
    sum_weight_grad(const __grid_constant__ Gradient<T> g, TapShape shape) {
  constexpr int kCount = kLanes<T>;
  constexpr int kTogether = kPacked ? 8 : 1;  // loads of single columns are many as it is
  __shared__ float sums[kTaps][kThreads];
  const CompressionSizes& sizes = g.sizes;
  const int64_t tap_blocks = (sizes.block_size + kTaps - 1) / kTaps;
  const int64_t first_tap = blockIdx.x % tap_blocks * kTaps;
  const int lane = static_cast<int>(threadIdx.x) % shape.lanes;
  const int heads_together = kThreads / shape.lanes;
  const int64_t head = blockIdx.x / tap_blocks * heads_together + threadIdx.x / shape.lanes;
  const int taps =
      static_cast<int>(sizes.block_size - first_tap < kTaps ? sizes.block_size - first_tap : kTaps);
  for (int64_t stretch = blockIdx.y; stretch < g.stretches; stretch += gridDim.y) {
    const int64_t begin = stretch * g.windows_of_stretch;
    const int64_t end =
        begin + g.windows_of_stretch < sizes.windows ? begin + g.windows_of_stretch : sizes.windows;
    float tap_sums[kTaps] = {};
    for (int64_t window = begin; head < sizes.heads && window < end; ++window) {
      const int64_t token = first_token_of(sizes, g.sequences, window) + first_tap;
      for (int64_t column = lane * kCount; column < sizes.columns; column += shape.lanes * kCount) {
        const auto read = [&](const HeadTensor<const T>& tensor, const T* at) {
          return read_columns<kPacked, kCount>(at, tensor.column, sizes.columns - column);
        };
        const Pack<T, kCount> gradient = read(g.output_grad, g.output_grad.at(window, head, column));
        // Several tokens on their way at once. A condition for each would be a branch round each load, so behind the last tap its
        // token is read once more; no one reads the sums that this adds to.
        const T* at = g.input.at(token, head, column);
#pragma unroll
        for (int first = 0; first < kTaps; first += kTogether) {
          if (first >= taps) break;
          Pack<T, kCount> x[kTogether];
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            x[i] = read(g.input, at);
            if (first + i + 1 < taps) at += g.input.row;
          }
#pragma unroll
          for (int i = 0; i < kTogether; ++i) tap_sums[first + i] += dot(gradient, x[i]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kTaps; ++i) sums[i][threadIdx.x] = tap_sums[i];
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); k < kTaps * heads_together; k += kThreads) {
      const int tap = k / heads_together;
      const int64_t of_head = blockIdx.x / tap_blocks * heads_together + k % heads_together;
      if (tap >= taps || of_head >= sizes.heads) continue;
      double sum = 0;
      for (int l = 0; l < shape.lanes; ++l)
        sum += static_cast<double>(sums[tap][k % heads_together * shape.lanes + l]);
      g.weight_sums[(stretch * sizes.block_size + first_tap + tap) * sizes.heads + of_head] = sum;
    }
    __syncthreads();
  }
}

// In the order of the stretches, several on their way at once.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    join_weight_sums(const __grid_constant__ Gradient<T> g) {
  constexpr int kTogether = 16;
  const int64_t weights = g.sizes.block_size * g.sizes.heads;
  for (int64_t k = thread_number(); k < weights; k += thread_count()) {
    double total = 0;
    for (int64_t first = 0; first < g.stretches; first += kTogether) {
      const int count = static_cast<int>(std::min<int64_t>(g.stretches - first, kTogether));
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
    int64_t head = 0;
    const int64_t i = divide(k, g.sizes.heads, head);
    *g.weight_grad.at(i, head) = from_fp32<T>(static_cast<float>(total));
  }
}

template <class T>
cudaError_t launch_weight_grad(const Gradient<T>& g, cudaStream_t stream) {
  constexpr int kCount = kLanes<T>;
  const CompressionSizes& sizes = g.sizes;
  const int64_t packs = ceil_div(sizes.columns, kCount);
  const TapShape shape = {
      static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(packs, kThreads))))};
  const int64_t blocks = ceil_div(sizes.heads, kThreads / shape.lanes) * ceil_div(sizes.block_size, kTaps);
  const bool packed =
      can_pack<kCount>(g.output_grad, sizes.columns) && can_pack<kCount>(g.input, sizes.columns);
  const auto kernel = packed ? sum_weight_grad<true, T> : sum_weight_grad<false, T>;
  OPENACLNN_CUDA_TRY(launch_kernel(kernel, grid_of(blocks, std::min<int64_t>(g.stretches, 0xFFFF)), kThreads,
                                   0, stream, g, shape));
  return launch_kernel(join_weight_sums<T>, grid_of(blocks_for(sizes.block_size * sizes.heads)), kThreads, 0,
                       stream, g);
}

template <int kTokens, int kCount, class T>
cudaError_t launch_input_grad(const Gradient<T>& g, cudaStream_t stream) {
  const int64_t items =
      ceil_div(g.sizes.tokens, kTokens) * packs_of_row<kCount>(g.sizes.heads, g.sizes.columns);
  return launch_kernel(sum_input_grad<kTokens, kCount, T>, grid_of(blocks_for(items)), kThreads, 0, stream,
                       g);
}

template <class T>
cudaError_t write_only_zeros(const NsaCompressGradPlan& plan, const LaunchIo& io) {
  const CompressionSizes& sizes = plan.sizes;
  const auto write = [&](const LoopNest<1>& nest, NsaCompressGradParameter which, bool is_empty) {
    return is_empty ? cudaSuccess
                    : write_zeros(nest, static_cast<T*>(io.data[which]) + plan.offsets[which], io.stream);
  };
  const bool has_tokens = sizes.tokens > 0 && sizes.heads > 0 && sizes.columns > 0;
  OPENACLNN_CUDA_TRY(write(plan.input_grad_nest, kInputGrad, !has_tokens));
  return write(plan.weight_grad_nest, kWeightGrad, sizes.heads == 0);
}

template <class T>
cudaError_t launch(const NsaCompressGradPlan& plan, const LaunchIo& io) {
  if (plan.only_zeros) return write_only_zeros<T>(plan, io);
  Sequence* const sequences = workspace_part<Sequence>(io, plan.sequences);
  OPENACLNN_CUDA_TRY(upload_sequences(plan, sequences, io.stream));
  const auto heads = [&]<class Element>(NsaCompressGradParameter which,
                                        const std::array<int64_t, 3>& strides) {
    return head_tensor<Element>(io.data[which], plan.offsets[which], strides);
  };
  const auto weights = [&]<class Element>(NsaCompressGradParameter which,
                                          const std::array<int64_t, 2>& strides) {
    return WeightTensor<Element>{static_cast<Element*>(io.data[which]) + plan.offsets[which], strides[0],
                                 strides[1]};
  };
  Gradient<T> g = {};
  g.sizes = plan.sizes;
  g.sequences = sequences;
  g.output_grad = heads.template operator()<const T>(kOutputGrad, plan.output_grad_strides);
  g.input = heads.template operator()<const T>(kGradInput, plan.input_strides);
  g.weight = weights.template operator()<const T>(kGradWeight, plan.weight_strides);
  g.input_grad = heads.template operator()<T>(kInputGrad, plan.input_grad_strides);
  g.weight_grad = weights.template operator()<T>(kWeightGrad, plan.weight_grad_strides);
  g.stretches = plan.stretches;
  g.windows_of_stretch = plan.windows_of_stretch;
  g.weight_sums = workspace_part<double>(io, plan.weight_sums);

  constexpr int kCount = kLanes<T>;
  const bool packed = can_pack<kCount>(g.output_grad, plan.sizes.columns) &&
                      can_pack<kCount>(g.input_grad, plan.sizes.columns);
  OPENACLNN_CUDA_TRY(packed ? launch_input_grad<4, kCount>(g, io.stream)
                            : launch_input_grad<4, 1>(g, io.stream));
  return launch_weight_grad(g, io.stream);
}

}  // namespace

cudaError_t launch_nsa_compress_grad(const void* plan, const LaunchIo& io);
cudaError_t launch_nsa_compress_grad(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const NsaCompressGradPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
