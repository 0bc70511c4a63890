// Code shared by the CPU kernels of token compression, its gradient, and compression into a cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/checked.h"
#include "cpu/rows.h"
#include "ops/nsa/cover.h"
#include "ops/nsa/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Element strides of a [tokens or windows, N, D] tensor.
struct HeadStrides {
  explicit HeadStrides(const std::array<int64_t, 3>& strides)
      : row(strides[0]), head(strides[1]), column(strides[2]) {}
  int64_t row, head, column;
};

// Stores weight[i, n] of a [rows, columns] matrix as a float in widened[i * columns + n]. Each weight multiplies a
// whole row of a head, so it is converted only once.
template <class T>
inline void widen_weights(int64_t rows, int64_t columns, const T* weight,
                          const std::array<int64_t, 2>& strides, float* widened) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t n = 0; n < columns; ++n)
      widened[i * columns + n] = to_float(weight[i * strides[0] + n * strides[1]]);
  }
}

// A part of every row: whole heads, or a part of one head.
struct Tile {
  int64_t first_head, heads;
  int64_t first_column, columns;
};

// Divides rows into tiles of at most `heads_each` heads and `columns_each` columns. Tiles with a part of the
// columns have one head.
class Tiles {
 public:
  Tiles(int64_t heads, int64_t columns, int64_t heads_each, int64_t columns_each)
      : heads_(heads),
        columns_(columns),
        heads_each_(heads_each),
        columns_each_(columns_each),
        pieces_(ceil_div(columns, columns_each)),
        count_(ceil_div(heads, heads_each) * pieces_) {}

  int64_t count() const { return count_; }
  Tile operator[](int64_t index) const {
    const int64_t head = index / pieces_ * heads_each_;
    const int64_t column = index % pieces_ * columns_each_;
    return {head, std::min(heads_ - head, heads_each_), column, std::min(columns_ - column, columns_each_)};
  }
  // Returns whether every tile has columns for a pair of vectors.
  bool have_pairs() const { return (columns_ - 1) % columns_each_ + 1 >= F32x2::kLanes; }

 private:
  int64_t heads_, columns_;
  int64_t heads_each_, columns_each_;  // per tile
  int64_t pieces_;                     // per head
  int64_t count_;
};

// Adds kTokens tokens to kWindows windows that cover them, in one head.
template <int kWindows, int kTokens, class T>
struct WindowUpdate {
  const T* token[kTokens];
  const T* ahead[kTokens];  // rows to be prefetched
  float* accumulators[kWindows];
  bool is_first[kWindows];  // whether the token is the first of a block of terms
  F32 weight[kWindows][kTokens];

  // Sets accumulators = (is_first ? +0 : accumulators) + weight * token, token by token.
  HWY_INLINE void add(int64_t slot, int64_t column) const {
    F32x2 x[kTokens];
#pragma GCC unroll 8
    for (int r = 0; r < kTokens; ++r) {
      fetch<F32x2>(ahead[r] + column);
      x[r] = load<F32x2>(token[r] + column);
    }
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      F32x2 sum = is_first[w] ? F32x2() : load<F32x2>(accumulators[w] + slot);
#pragma GCC unroll 8
      for (int r = 0; r < kTokens; ++r) sum = multiply_add(weight[w][r], x[r], sum);
      store_numbers(sum, accumulators[w] + slot);
    }
  }

  // Adds all columns of the row, which are contiguous and at least a pair of vectors.
  HWY_INLINE void add_row(int64_t columns) const {
    for_each_pair(columns, [&](int64_t slot, int64_t column) { add(slot, column); });
  }
  // The same for one pair at a time through a buffer, for columns that are not contiguous or fewer than a
  // pair.
  void add_gathered_row(int64_t columns, int64_t stride) {
    T buffer[kTokens][F32x2::kLanes];
    const T* from[kTokens];
    for (int r = 0; r < kTokens; ++r) {
      from[r] = token[r];
      token[r] = ahead[r] = buffer[r];
    }
    for (int64_t slot = 0; slot < columns; slot += F32x2::kLanes) {
      const int64_t count = std::min(columns - slot, F32x2::kLanes);
      for (int r = 0; r < kTokens; ++r) {
        if (stride == 1) {
          copy_in(from[r] + slot, count, buffer[r]);
          continue;
        }
        for (int64_t k = 0; k < F32x2::kLanes; ++k)
          buffer[r][k] = k < count ? from[r][(slot + k) * stride] : T();
      }
      add(slot, 0);
    }
  }
};

// Rounds the sums of a head and writes them to columns `stride` apart. `in_pairs`: add_row computed them.
//
// A sum of one block of terms is also a superblock, which starts at +0, and is therefore never -0. The block
// itself may be: a fused multiply-add of +0 and a negative product that underflows gives -0.
template <class T>
void write_compressed(const float* sums, T* to, int64_t stride, int64_t columns, bool in_pairs) {
  const auto write_pair = [&](int64_t slot, int64_t column) {
    const int64_t count = std::min(columns - column, F32x2::kLanes);
    const F32x2 sum = load<F32x2>(sums + slot) + F32x2();
    if (stride == 1 && count == F32x2::kLanes) return store(sum, to + column);
    T buffer[F32x2::kLanes];
    store(sum, buffer);
    if (stride == 1) return copy_out(buffer, to + column, count);
    for (int64_t k = 0; k < count; ++k) to[(column + k) * stride] = buffer[k];
  };
  if (in_pairs) {
    for_each_pair(columns, write_pair);
  } else {
    for (int64_t slot = 0; slot < columns; slot += F32x2::kLanes) write_pair(slot, slot);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
