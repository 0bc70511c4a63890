// What the CPU kernels of token compression and of its gradient share.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/simd.h"
#include "ops/nsa_plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Element strides of a [tokens or windows, N, D] tensor.
struct HeadStrides {
  explicit HeadStrides(const std::array<int64_t, 3>& strides)
      : row(strides[0]), head(strides[1]), column(strides[2]) {}
  int64_t row, head, column;
};

// weight[i, n] as a float at widened[i * N + n]. Each weight multiplies a whole row of a head, so it is converted only once.
template <class T>
inline void widen_weights(const CompressionSizes& sizes, const T* weight,
                          const std::array<int64_t, 2>& strides, float* widened) {
  for (int64_t i = 0; i < sizes.block_size; ++i) {
    for (int64_t n = 0; n < sizes.heads; ++n) {
      widened[i * sizes.heads + n] = to_float(weight[i * strides[0] + n * strides[1]]);
    }
  }
}

// The last sequence for which key(sequence) <= value, as an index; -1 when there is none. The keys ascend.
template <class Key>
inline int64_t last_sequence_at(const Sequence* sequences, int64_t count, const Key& key, int64_t value) {
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (key(sequences[middle]) <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
