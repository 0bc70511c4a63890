// NsaCompressGrad on a GPU: one kernel for inputGrad, which does not need input, and one for weightGrad
// (weight_grad.cuh). They share only outputGrad, the smallest tensor, so two passes cost little more than
// one.
#include "base/plan_tensor.h"
#include "cuda/side_stream.h"
#include "ops/launches.h"
#include "ops/nsa/compress_grad/weight_grad.cuh"

namespace openaclnn::cuda {

namespace {

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

// A thread processes a pack of columns of a few neighbouring tokens, kTokens at a time. The same windows
// almost always cover these tokens, and each window's gradients are then read once.
template <int kTokens, int kCount, class T>
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

template <int kTokens, int kCount, class T>
cudaError_t launch_input_grad(const Gradient<T>& g, cudaStream_t stream) {
  const int64_t items =
      ceil_div(g.sizes.tokens, kTokensOfItem) * packs_of_row<kCount>(g.sizes.heads, g.sizes.columns);
  return launch_kernel(sum_input_grad<kTokens, kCount, T>, grid_for_all(items), kThreads, 0, stream, g);
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
  OPENACLNN_CUDA_TRY(upload_sequences(plan, sequences, io.stream));
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

  constexpr int kCount = kLanes<T>;
  const bool packed = can_pack<kCount>(g.output_grad, plan.sizes.columns) &&
                      can_pack<kCount>(g.input_grad, plan.sizes.columns);
  const int64_t bytes =
      plan.sizes.tokens * plan.sizes.heads * plan.sizes.columns * static_cast<int64_t>(sizeof(T));
  return run_beside(
      io, bytes >= kLeastBytesBeside, [&](cudaStream_t side) { return launch_weight_grad(g, side); },
      [&] {
        return packed ? launch_input_grad<8, kCount>(g, io.stream) : launch_input_grad<8, 1>(g, io.stream);
      });
}

}  // namespace

cudaError_t launch_nsa_compress_grad(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const NsaCompressGradPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
