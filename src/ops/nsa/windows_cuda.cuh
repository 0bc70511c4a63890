// Code shared by the CUDA kernels of token compression, its gradient, and compression into a cache. It has
// the sequences on the device, packs of columns, and weighted sums of tokens.
#pragma once

#include "base/sum_order.h"
#include "cuda/float_types.cuh"
#include "cuda/loops.cuh"
#include "cuda/upload.cuh"
#include "ops/nsa/cover.h"
#include "ops/nsa/plan.h"

namespace openaclnn::cuda {

// A [tokens or windows, N, D] tensor. Strides in elements.
template <class T>
struct HeadTensor {
  T* base;
  int64_t row, head, column;

  __device__ __forceinline__ T* at(int64_t index, int64_t n, int64_t c) const {
    return base + index * row + n * head + c * column;
  }
};

template <class T, class Strides>
HeadTensor<T> head_tensor(T* base, const Strides& strides) {
  return {base, strides[0], strides[1], strides[2]};
}

template <int kCount, class T>
bool can_pack(const HeadTensor<T>& tensor, int64_t columns) {
  return can_pack<kCount>(tensor.base, tensor.column, columns, {tensor.row, tensor.head});
}

// A [L, N] tensor.
template <class T>
struct WeightTensor {
  T* base;
  int64_t row, head;

  __device__ __forceinline__ T* at(int64_t i, int64_t n) const { return base + i * row + n * head; }
};

// The first of the neighbouring columns of a head that a thread processes.
struct HeadColumns {
  int64_t head;
  int64_t first;

  template <class T>
  __device__ __forceinline__ T* at(const HeadTensor<T>& tensor, int64_t index) const {
    return tensor.at(index, head, first);
  }
};

// Numbers the packs of columns of all heads: pack k of head n is n * packs_of_head + k.
template <int kCount>
OPENACLNN_INLINE int64_t packs_of_row(int64_t heads, int64_t columns) {
  return heads * ((columns + kCount - 1) / kCount);
}
template <int kCount>
__device__ __forceinline__ HeadColumns columns_at(int64_t columns, int64_t number) {
  int64_t pack = 0;
  const int64_t head = divide(number, (columns + kCount - 1) / kCount, pack);
  return {head, pack * kCount};
}

// Returns the weighted sum of a pack of columns over `terms` tokens, in the library's order of additions.
// token_at(i) returns the address of the pack in token i.
template <int kCount, class T, class TokenAt>
__device__ __forceinline__ void sum_tokens(const WeightTensor<const T>& weights, int64_t head, int64_t terms,
                                           const TokenAt& token_at, float (&sum)[kCount]) {
  double total[kCount] = {};
  float superblock[kCount] = {};
  float block[kCount] = {};
#pragma unroll 4
  for (int64_t i = 0; i < terms; ++i) {
    float x[kCount];
    load_pack(token_at(i), x);
    const float weight = to_fp32(*weights.at(i, head));
#pragma unroll
    for (int k = 0; k < kCount; ++k) block[k] = multiply_add(weight, x[k], block[k]);
    if ((i + 1) % kBlockTerms != 0 && i + 1 < terms) continue;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      superblock[k] += block[k];
      block[k] = 0;
    }
    if ((i + 1) % kSuperblockTerms != 0 && i + 1 < terms) continue;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      total[k] += static_cast<double>(superblock[k]);
      superblock[k] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum[k] = static_cast<float>(total[k]);
}

// Returns the first token of a window.
__device__ __forceinline__ int64_t first_token_of(const CompressionSizes& sizes, const Sequence* sequences,
                                                  int64_t window) {
  return first_token_of(sizes, sequences[sequence_of_window(sizes, sequences, window)], window);
}

// Uploads the sequences that follow a plan into the workspace.
template <class Plan>
cudaError_t upload_sequences(const Plan& plan, Sequence* to, const LaunchIo& io) {
  Upload upload(to, io);
  for (int64_t k = 0; k < plan.sizes.sequences; ++k) upload.append(plan_items<Sequence>(plan)[k]);
  return upload.finish();
}

}  // namespace openaclnn::cuda
