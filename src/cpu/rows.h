// Sums of rows in the library's one order of additions, shared by every operator that adds rows.
//
// The order: the rows of one sum are numbered from 0. A window is 64 consecutive rows, added in fp32 left to right to an
// accumulator that starts at +0. A chunk is 8 windows, whose sums are added in fp32 left to right. Chunk sums are added left
// to right in fp64, and the total is rounded once to fp32. Long sums stay accurate, and any machine gets the same bits.
#pragma once

#include <cstdint>

#include "cpu/simd.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

inline constexpr int64_t kWindowRows = 64;
inline constexpr int64_t kChunkRows = 512;

// Columns summed at once: the accumulators below stay in L1, and each row is read in pieces of 1 or 2 KiB.
inline constexpr int64_t kTileColumns = 512;

// Accumulators of one tile of columns; a thread keeps one on its stack.
struct alignas(64) RowAccumulators {
  float window[kTileColumns];
  float chunk[kTileColumns];
  double total[kTileColumns];
};

// accumulator[c] = accumulator[c] + row[c], or +0 + row[c] for the first row of a window.
template <class In>
inline void add_row(float* accumulator, const In* row, int64_t columns, bool first) {
  int64_t c = 0;
  for (; c + F32::kLanes <= columns; c += F32::kLanes) {
    const F32 sum = first ? F32(0.0f) : load(accumulator + c);
    hn::StoreU((sum + load(row + c)).raw, F32::Tag(), accumulator + c);
  }
  if (const int64_t left = columns - c; left > 0) {
    const F32 sum = first ? F32(0.0f) : load_first(accumulator + c, left);
    store_first(sum + load_first(row + c, left), accumulator + c, left);
  }
}

// sum_rows for at most 8 rows: every column's sum stays in a register, and nothing but the result is stored.
template <class In, class Out, class RowAt>
inline void sum_few_rows(int64_t rows, const RowAt& row_at, int64_t columns, F32 scale, Out* out) {
  const In* pointers[8];
  for (int64_t k = 0; k < rows; ++k) pointers[k] = row_at(k);
  int64_t c = 0;
  for (; c + F32::kLanes <= columns; c += F32::kLanes) {
    F32 sum(0.0f);
    for (int64_t k = 0; k < rows; ++k) sum = sum + load(pointers[k] + c);
    store(sum * scale, out + c);
  }
  if (const int64_t left = columns - c; left > 0) {
    F32 sum(0.0f);
    for (int64_t k = 0; k < rows; ++k) sum = sum + load_first(pointers[k] + c, left);
    store_first(sum * scale, out + c, left);
  }
}

// out[c] = scale * (sum over k of row_at(k)[c]) for `columns` <= kTileColumns and `rows` >= 1. row_at(k) gives the address of
// row k's first column and is called once per row, in ascending order, before that row is read. The fp32 sum is multiplied in
// fp32 (a scale of 1 changes no bit) and rounded once to Out.
template <class In, class Out, class RowAt>
inline void sum_rows(int64_t rows, const RowAt& row_at, int64_t columns, RowAccumulators& accumulators,
                     F32 scale, Out* out) {
  bool chunk_is_empty = true;
  bool total_is_empty = true;
  for (int64_t begin = 0; begin < rows; begin += kWindowRows) {
    const int64_t end = begin + kWindowRows < rows ? begin + kWindowRows : rows;
    for (int64_t k = begin; k < end; ++k) add_row(accumulators.window, row_at(k), columns, k == begin);
    // A sum that started at +0 is never -0, so the first window's sum is the chunk's accumulator as it is.
    add_row(accumulators.chunk, accumulators.window, columns, chunk_is_empty);
    chunk_is_empty = false;
    if (end == rows || end % kChunkRows == 0) {
      for (int64_t c = 0; c < columns; ++c) {
        accumulators.total[c] =
            (total_is_empty ? 0.0 : accumulators.total[c]) + static_cast<double>(accumulators.chunk[c]);
      }
      chunk_is_empty = true;
      total_is_empty = false;
    }
  }
  for (int64_t c = 0; c < columns; ++c) accumulators.chunk[c] = static_cast<float>(accumulators.total[c]);
  int64_t c = 0;
  for (; c + F32::kLanes <= columns; c += F32::kLanes) store(load(accumulators.chunk + c) * scale, out + c);
  if (const int64_t left = columns - c; left > 0) {
    store_first(load_first(accumulators.chunk + c, left) * scale, out + c, left);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
