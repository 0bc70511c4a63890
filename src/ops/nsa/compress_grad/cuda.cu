// NsaCompressGrad on a GPU: two kernels for inputGrad, which does not need input, and those for weightGrad
// (weight_grad.cuh). They share only outputGrad, the smallest tensor, so two passes cost little more than
// one.
#include <algorithm>

#include "base/plan_tensor.h"
#include "cuda/side_stream.h"
#include "ops/launches.h"
#include "ops/nsa/compress_grad/weight_grad.cuh"

namespace openaclnn::cuda {

namespace {

// ---- any number of windows over a token ----

__device__ __forceinline__ Cover cover_of(const CompressionSizes& sizes, const Sequence* sequences,
                                          int64_t token) {
  const auto quotient = [](int64_t a, int64_t b) {
    int64_t rest = 0;
    return divide(a, b, rest);
  };
  return cover_of(sizes, sequences, sequence_at_token(sizes, sequences, token), token, quotient);
}

// Adds the products of `count` tokens with the windows that cover them, in ascending order of windows. Sums
// beyond `count` become undefined. kAll: there are none.
template <bool kAll, int kTokens, int kCount, class T>
__device__ __forceinline__ void add_windows_of_tokens(const Gradient<T>& g, const Cover& cover,
                                                      const HeadColumns& columns, int count,
                                                      float (&sums)[kTokens][kCount]) {
  if (cover.first > cover.last) return;
  const T* from = columns.at(g.output_grad, cover.first);
  const T* weights = g.weight.at(cover.weight, columns.head);
  Stored<T, kCount> next = load_stored<kCount>(from);
  for (int64_t left = cover.last - cover.first;; --left) {
    float gradient[kCount];
    widen<T, kCount>(next, gradient);
    if (left > 0) next = load_stored<kCount>(from += g.output_grad.row);  // while this window is added
    const T* at = weights;
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      const float weight = to_fp32(*at);
      if (kAll || t + 1 < count) at += g.weight.row;
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[t][k] = multiply_add(weight, gradient[k], sums[t][k]);
    }
    if (left == 0) break;
    weights -= g.sizes.stride * g.weight.row;
  }
}

constexpr int kTokensOfItem = 16;
constexpr int kTokens = 8;  // of these, added at the same time

// A thread processes a pack of columns of a few neighbouring tokens, kTokens at a time. The same windows
// almost always cover these tokens, and each window's gradients are then read once.
template <int kCount, class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    sum_input_grad(const __grid_constant__ Gradient<T> g) {
  const CompressionSizes& sizes = g.sizes;
  const int64_t packs = packs_of_row<kCount>(sizes.heads, sizes.columns);
  const int64_t items = (sizes.tokens + kTokensOfItem - 1) / kTokensOfItem * packs;
  for (int64_t item = thread_number(); item < items; item += thread_count()) {
    int64_t pack = 0;
    int64_t token = divide(item, packs, pack) * kTokensOfItem;
    const HeadColumns columns = columns_at<kCount>(sizes.columns, pack);
    T* to = columns.at(g.input_grad, token);
    int left = static_cast<int>(sizes.tokens - token < kTokensOfItem ? sizes.tokens - token : kTokensOfItem);
    Cover cover = {0, -1, 0, token};
    while (left > 0) {
      if (token == cover.until) cover = cover_of(sizes, g.sequences, token);
      int count = left < kTokens ? left : kTokens;
      if (cover.until - token < count) count = static_cast<int>(cover.until - token);
      float sums[kTokens][kCount] = {};
      if (count == kTokens) {
        add_windows_of_tokens<true>(g, cover, columns, count, sums);
      } else {
        add_windows_of_tokens<false>(g, cover, columns, count, sums);
      }
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
        if (t >= count) break;
        store_pack(sums[t], to);
        to += g.input_grad.row;
      }
      token += count;
      left -= count;
      cover.weight += count;
    }
  }
}

template <int kCount, class T>
cudaError_t launch_any_windows(const Gradient<T>& g, cudaStream_t stream) {
  const int64_t items =
      ceil_div(g.sizes.tokens, kTokensOfItem) * packs_of_row<kCount>(g.sizes.heads, g.sizes.columns);
  return launch_kernel(sum_input_grad<kCount, T>, grid_for_all(items), kThreads, 0, stream, g);
}

// ---- few windows over a token ----
//
// For packed columns and a block size of one to four strides. A thread keeps the gradients of a token's
// windows in registers while it walks over the tokens of a segment. The weights of a block's heads are in
// shared memory. A thread thus needs few registers, and a multiprocessor holds 24 warps or more instead of 16.
// On an NVIDIA H200, variants of it took 0.76 to 0.96 of the time of the kernel above.

constexpr int kBlockThreads = 128;
constexpr int kBlocksOfMultiprocessor = 6;  // so many fit at least
constexpr int kMostWindows = 4;
constexpr int kTokensOfBlock = 16;
constexpr int kTokensTogether = 4;    // of a segment, added at the same time
constexpr int kWeightsOfThread = 10;  // that a thread copies into shared memory

// How the blocks share the packs of columns of a token.
struct PackShape {
  int packs_of_head;
  int packs;    // of all heads
  int blocks;   // for a token
  int windows;  // over a token
};

// The weights of a block's heads in shared memory: a row for each head. A thread copies weights of one head.
struct WeightRows {
  int weights;  // of a head
  int length;   // of a row
  int head;     // whose weights the thread copies
  int first;    // the first of these weights
  int step;     // to the next one

  // Zeros follow the weights, because kTokensTogether tokens are added even if fewer exist. With an odd length,
  // the same weights of neighbouring heads are in different banks.
  static constexpr int length_for(int weights) { return (weights + kTokensTogether - 1) | 1; }

  __device__ __forceinline__ static WeightRows of_block(int weights, int heads) {
    const int thread = static_cast<int>(threadIdx.x);
    const int step = static_cast<int>(blockDim.x) / heads;
    const int length = length_for(weights);
    const int first = thread / heads;
    return {weights, length, thread % heads, first < step ? first : length, step};
  }
  template <class T>
  __device__ __forceinline__ void load(const WeightTensor<const T>& weight, int first_head,
                                       float (&to)[kWeightsOfThread]) const {
#pragma unroll
    for (int k = 0; k < kWeightsOfThread; ++k) {
      const int i = first + k * step;
      to[k] = i < weights ? to_fp32(*weight.at(i, first_head + head)) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(const float (&from)[kWeightsOfThread], float* rows) const {
#pragma unroll
    for (int k = 0; k < kWeightsOfThread; ++k) {
      const int i = first + k * step;
      if (i < length) rows[head * length + i] = from[k];
    }
  }
};

// Neighbouring tokens of a segment, and a pack of the gradients of each window that covers them. Windows are
// counted backwards from the segment's own window, and [first, last] exist.
struct CoveredTokens {
  int count;
  int phase;  // of the first token in its segment
  int first, last;
  Words gradients[kMostWindows];
};

// Returns at most `most` tokens, the first of which is `token`.
template <class T>
__device__ __forceinline__ CoveredTokens load_covered(const Gradient<T>& g, const HeadColumns& columns,
                                                      int windows, int64_t token, int most) {
  const CompressionSizes& sizes = g.sizes;
  const int64_t sequence = sequence_at_token(sizes, g.sequences, token);
  Sequence s = {token, 0, 0};  // tokens before the first sequence
  if (sequence >= 0) s = g.sequences[sequence];
  int64_t count = most;
  if (sequence + 1 < sizes.sequences) count = std::min(count, g.sequences[sequence + 1].first_token - token);
  int64_t phase = 0;
  const int64_t segment = divide(token - s.first_token, sizes.stride, phase);
  CoveredTokens covered = {};
  covered.count = static_cast<int>(std::min(count, sizes.stride - phase));
  covered.phase = static_cast<int>(phase);
  covered.first = static_cast<int>(std::clamp<int64_t>(segment - (s.windows - 1), 0, kMostWindows));
  covered.last = static_cast<int>(std::min<int64_t>(segment, windows - 1));
#pragma unroll
  for (int j = 0; j < kMostWindows; ++j) {
    if (j < covered.first || j > covered.last) continue;
    const int64_t window = s.first_window + segment - j;
    covered.gradients[j] = load_stored<kLanes<T>>(columns.at(g.output_grad, window));
  }
  return covered;
}

// Widens a pack where this is called. nvcc 13.0 would widen all windows before the loop over tokens and then
// spill registers.
template <class T>
__device__ __forceinline__ void widen_here(Words words, float (&to)[kLanes<T>]) {
#pragma unroll
  for (uint32_t& word : words.lane) asm volatile("" : "+r"(word));
  widen<T, kLanes<T>>(words, to);
}

// Adds the products of kTokensTogether tokens in ascending order of windows. weights: the first token's in
// the segment's own window. kAll: all windows exist.
template <bool kAll, class T>
__device__ __forceinline__ void add_covered(const CoveredTokens& covered, const float* weights, int stride,
                                            float (&sums)[kTokensTogether][kLanes<T>]) {
#pragma unroll
  for (int j = kMostWindows - 1; j >= 0; --j) {
    // A weight of zero instead would turn infinite gradients into NaN.
    if (!kAll && (j < covered.first || j > covered.last)) continue;
    float gradient[kLanes<T>];
    widen_here<T>(covered.gradients[j], gradient);
#pragma unroll
    for (int t = 0; t < kTokensTogether; ++t) {
      const float weight = weights[j * stride + t];
#pragma unroll
      for (int k = 0; k < kLanes<T>; ++k) sums[t][k] = multiply_add(weight, gradient[k], sums[t][k]);
    }
  }
}

// Stores the gradients of covered tokens. weights: the head's row. Returns the place of the next token.
template <class T>
__device__ __forceinline__ T* store_covered(const CoveredTokens& covered, const float* weights, int stride,
                                            int64_t token_stride, T* to) {
  weights += covered.phase;
  for (int left = covered.count; left > 0; left -= kTokensTogether) {
    float sums[kTokensTogether][kLanes<T>] = {};
    if (covered.first == 0 && covered.last == kMostWindows - 1) {
      add_covered<true, T>(covered, weights, stride, sums);
    } else {
      add_covered<false, T>(covered, weights, stride, sums);
    }
#pragma unroll
    for (int t = 0; t < kTokensTogether; ++t) {
      if (t >= left) break;
      store_pack(sums[t], to);
      to += token_stride;
    }
    weights += kTokensTogether;
  }
  return to;
}

// A block processes neighbouring packs of columns of kTokensOfBlock tokens, a thread one of these packs.
template <class T>
__global__ void __launch_bounds__(kBlockThreads, kBlocksOfMultiprocessor)
    sum_few_windows(const __grid_constant__ Gradient<T> g, PackShape shape) {
  __shared__ float weights[kWeightsOfThread * kBlockThreads];
  const CompressionSizes& sizes = g.sizes;
  const int first_pack = static_cast<int>(blockIdx.x % shape.blocks * blockDim.x);
  const int last_pack = std::min(first_pack + static_cast<int>(blockDim.x), shape.packs) - 1;
  const int first_head = first_pack / shape.packs_of_head;
  const int heads = last_pack / shape.packs_of_head - first_head + 1;
  const WeightRows rows = WeightRows::of_block(static_cast<int>(sizes.block_size), heads);
  float loaded[kWeightsOfThread];  // while the thread finds its windows
  rows.load(g.weight, first_head, loaded);

  const int own_pack = first_pack + static_cast<int>(threadIdx.x);
  const int pack = std::min(own_pack, last_pack);  // further threads only copy weights
  const int head = pack / shape.packs_of_head;
  const HeadColumns columns = {head, int64_t{pack - head * shape.packs_of_head} * kLanes<T>};
  int64_t token = static_cast<int64_t>(blockIdx.x / shape.blocks) * kTokensOfBlock;
  int left = static_cast<int>(std::min<int64_t>(sizes.tokens - token, kTokensOfBlock));
  CoveredTokens covered = load_covered(g, columns, shape.windows, token, left);
  rows.store(loaded, weights);
  __syncthreads();
  if (own_pack > last_pack) return;

  const float* const of_head = weights + (head - first_head) * rows.length;
  T* to = columns.at(g.input_grad, token);
  while (true) {
    to = store_covered(covered, of_head, static_cast<int>(sizes.stride), g.input_grad.row, to);
    left -= covered.count;
    if (left == 0) break;
    token += covered.count;
    covered = load_covered(g, columns, shape.windows, token, left);
  }
}

// Returns how many threads of a block process packs of a token: whole warps, and equal blocks.
int64_t threads_for(int64_t packs) {
  return ceil_div(ceil_div(packs, ceil_div(packs, kBlockThreads)), kWarp) * kWarp;
}

// Returns whether sum_few_windows can process the shape.
bool has_few_windows(const CompressionSizes& sizes, int64_t packs) {
  constexpr int64_t kMostPacks = int64_t{1} << 30;  // that the kernel may number by int
  if (sizes.block_size % sizes.stride != 0 || sizes.block_size / sizes.stride > kMostWindows) return false;
  if (packs < kWarp || packs > kMostPacks) return false;  // fewer packs leave most of a warp without work
  const int64_t threads = threads_for(packs);
  const int64_t most_heads = std::min(sizes.heads, (threads - 2) / (packs / sizes.heads) + 2);  // in a block
  const int64_t most_length = threads / most_heads * kWeightsOfThread;
  return sizes.block_size < most_length &&
         WeightRows::length_for(static_cast<int>(sizes.block_size)) <= most_length;
}

template <class T>
cudaError_t launch_few_windows(const Gradient<T>& g, int64_t packs, cudaStream_t stream) {
  const CompressionSizes& sizes = g.sizes;
  const int64_t blocks = ceil_div(packs, kBlockThreads);
  const PackShape shape = {static_cast<int>(packs / sizes.heads), static_cast<int>(packs),
                           static_cast<int>(blocks), static_cast<int>(sizes.block_size / sizes.stride)};
  return launch_kernel(sum_few_windows<T>, grid_of(ceil_div(sizes.tokens, kTokensOfBlock) * blocks),
                       static_cast<unsigned>(threads_for(packs)), 0, stream, g, shape);
}

template <class T>
cudaError_t launch_input_grad(const Gradient<T>& g, cudaStream_t stream) {
  constexpr int kCount = kLanes<T>;
  const CompressionSizes& sizes = g.sizes;
  if (!can_pack<kCount>(g.output_grad, sizes.columns) || !can_pack<kCount>(g.input_grad, sizes.columns))
    return launch_any_windows<1>(g, stream);
  const int64_t packs = packs_of_row<kCount>(sizes.heads, sizes.columns);
  return has_few_windows(sizes, packs) ? launch_few_windows(g, packs, stream)
                                       : launch_any_windows<kCount>(g, stream);
}

// Below this size two streams cost more than they save.
constexpr int64_t kLeastBytesBeside = int64_t{8} << 20;

template <class T>
cudaError_t write_only_zeros(const NsaCompressGradPlan& plan, const LaunchIo& io) {
  const CompressionSizes& sizes = plan.sizes;
  const auto write = [&](const LoopNest<1>& nest, NsaCompressGradParameter which, bool is_empty) {
    return is_empty ? cudaSuccess : write_zeros(nest, plan_tensor<T>(plan, io, which), io.stream);
  };
  const bool has_tokens = sizes.tokens > 0 && sizes.heads > 0 && sizes.columns > 0;
  OPENACLNN_CUDA_TRY(write(plan.input_grad_nest, kInputGrad, !has_tokens));
  return write(plan.weight_grad_nest, kWeightGrad, sizes.heads == 0);
}

template <class T>
cudaError_t launch(const NsaCompressGradPlan& plan, const LaunchIo& io) {
  if (plan.only_zeros) return write_only_zeros<T>(plan, io);
  Sequence* const sequences = workspace_part<Sequence>(io, plan.sequences);
  OPENACLNN_CUDA_TRY(upload_sequences(plan, sequences, io));
  const auto heads = [&]<class Element>(NsaCompressGradParameter which,
                                        const std::array<int64_t, 3>& strides) {
    return head_tensor(plan_tensor<Element>(plan, io, which), strides);
  };
  const auto weights = [&]<class Element>(NsaCompressGradParameter which,
                                          const std::array<int64_t, 2>& strides) {
    return WeightTensor<Element>{plan_tensor<Element>(plan, io, which), strides[0], strides[1]};
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

  const int64_t bytes =
      plan.sizes.tokens * plan.sizes.heads * plan.sizes.columns * static_cast<int64_t>(sizeof(T));
  return run_beside(
      io, bytes >= kLeastBytesBeside, [&](cudaStream_t side) { return launch_weight_grad(g, side); },
      [&] { return launch_input_grad(g, io.stream); });
}

}  // namespace

cudaError_t launch_nsa_compress_grad(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const NsaCompressGradPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
