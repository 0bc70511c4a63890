// NsaCompress on a GPU: a thread sums 16 bytes of columns of a few neighbouring windows, and reads each token
// once for all.
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/sum_order.h"
#include "ops/launches.h"
#include "ops/nsa/compress/plan.h"
#include "ops/nsa/windows_cuda.cuh"

namespace openaclnn::cuda {

namespace {

template <class T>
struct Compression {
  CompressionSizes sizes;
  const Sequence* sequences;
  HeadTensor<const T> input;
  WeightTensor<const T> weight;
  HeadTensor<T> output;
};

// Sums windows of up to one block of terms, for kWindows neighbours of one sequence that start `stride`
// tokens apart. Each adds its terms in ascending order.
template <int kWindows, int kCount, class T>
__device__ __forceinline__ void sum_short(const Compression<T>& c, const HeadColumns& columns,
                                          int64_t first_token, float (&sums)[kWindows][kCount]) {
  const CompressionSizes& sizes = c.sizes;
  const int64_t tokens = (kWindows - 1) * sizes.stride + sizes.block_size;
#pragma unroll 4
  for (int64_t t = 0; t < tokens; ++t) {
    float x[kCount];
    load_pack(columns.at(c.input, first_token + t), x);
#pragma unroll
    for (int w = 0; w < kWindows; ++w) {
      const int64_t i = t - w * sizes.stride;
      if (i < 0 || i >= sizes.block_size) continue;
      const float weight = to_fp32(*c.weight.at(i, columns.head));
#pragma unroll
      for (int k = 0; k < kCount; ++k) sums[w][k] = multiply_add(weight, x[k], sums[w][k]);
    }
  }
  // The superblock, which starts at +0. Fused sums of products that underflow may be -0.
#pragma unroll
  for (int w = 0; w < kWindows; ++w) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[w][k] += 0.0f;
  }
}

// Sums windows [kWindows * g, …) for each pack of columns. With kWindows 1 they may have any length.
template <int kWindows, int kCount, class T>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    compress(const __grid_constant__ Compression<T> c) {
  const CompressionSizes& sizes = c.sizes;
  const int64_t packs = packs_of_row<kCount>(sizes.heads, sizes.columns);
  const int64_t items = (sizes.windows + kWindows - 1) / kWindows * packs;
  for (int64_t item = thread_number(); item < items; item += thread_count()) {
    int64_t pack = 0;
    const int64_t first = divide(item, packs, pack) * kWindows;
    const HeadColumns columns = columns_at<kCount>(sizes.columns, pack);
    const int64_t token = first_token_of(sizes, c.sequences, first);
    if constexpr (kWindows == 1) {
      float sum[kCount];
      const auto token_at = [&](int64_t i) { return columns.at(c.input, token + i); };
      sum_tokens(c.weight, columns.head, sizes.block_size, token_at, sum);
      store_pack(sum, columns.at(c.output, first));
    } else {
      const int64_t last = first + kWindows - 1;
      if (last < sizes.windows &&
          first_token_of(sizes, c.sequences, last) == token + (kWindows - 1) * sizes.stride) {
        float sums[kWindows][kCount] = {};
        sum_short(c, columns, token, sums);
#pragma unroll
        for (int w = 0; w < kWindows; ++w) store_pack(sums[w], columns.at(c.output, first + w));
        continue;
      }
      for (int64_t window = first; window <= last && window < sizes.windows;
           ++window) {  // the sequence ends here
        float sums[1][kCount] = {};
        sum_short(c, columns, first_token_of(sizes, c.sequences, window), sums);
        store_pack(sums[0], columns.at(c.output, window));
      }
    }
  }
}

template <int kWindows, int kCount, class T>
cudaError_t launch_compress(const Compression<T>& c, cudaStream_t stream) {
  const int64_t items =
      ceil_div(c.sizes.windows, kWindows) * packs_of_row<kCount>(c.sizes.heads, c.sizes.columns);
  return launch_kernel(compress<kWindows, kCount, T>, grid_of(blocks_for(items)), kThreads, 0, stream, c);
}

template <class T>
cudaError_t launch(const NsaCompressPlan& plan, const LaunchIo& io) {
  Sequence* const sequences = workspace_part<Sequence>(io, plan.sequences);
  OPENACLNN_CUDA_TRY(upload_sequences(plan, sequences, io));
  Compression<T> c = {};
  c.sizes = plan.sizes;
  c.sequences = sequences;
  c.input = head_tensor(plan_tensor<const T>(plan, io, kCompressInput), plan.input_strides);
  c.weight = {plan_tensor<const T>(plan, io, kCompressWeight), plan.weight_strides[0],
              plan.weight_strides[1]};
  c.output = head_tensor(plan_tensor<T>(plan, io, kCompressOutput), plan.output_strides);
  constexpr int kCount = kLanes<T>;
  constexpr int kTogether = 4;  // overlapping windows
  const bool packed =
      can_pack<kCount>(c.input, plan.sizes.columns) && can_pack<kCount>(c.output, plan.sizes.columns);
  if (plan.sizes.block_size <= kBlockTerms && plan.sizes.stride < plan.sizes.block_size)
    return packed ? launch_compress<kTogether, kCount>(c, io.stream)
                  : launch_compress<kTogether, 1>(c, io.stream);
  return packed ? launch_compress<1, kCount>(c, io.stream) : launch_compress<1, 1>(c, io.stream);
}

}  // namespace

cudaError_t launch_nsa_compress(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const NsaCompressPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
