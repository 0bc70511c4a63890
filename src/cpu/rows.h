// Sums of rows in the library's one order of additions, shared by every operator that adds rows.
//
// The order: the rows of one sum are numbered from 0. A window is 64 consecutive rows, added in fp32 left to right to an
// accumulator that starts at +0. A chunk is 8 windows, whose sums are added in fp32 left to right. Chunk sums are added left
// to right in fp64, and the total is rounded once to fp32. Long sums stay accurate, and any machine gets the same bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/sum_order.h"
#include "cpu/simd.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

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
  constexpr int64_t kNarrow = 4;  // columns; up to here single additions are faster than part of a vector
  if (columns <= kNarrow && columns < F32::kLanes) {
    for (int64_t c = 0; c < columns; ++c) accumulator[c] = (first ? 0.0f : accumulator[c]) + to_float(row[c]);
    return;
  }
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

inline constexpr int64_t kFewRows = 8;

// sum_terms for at most kFewRows rows: every column's sum stays in a register, and nothing but the result is stored.
template <class In, class Out, class RowAt>
inline void sum_few_rows(int64_t rows, const RowAt& row_at, int64_t columns, F32 scale, Out* out) {
  const In* pointers[kFewRows];
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

// out[c] = scale * (sum of `terms` >= 1 terms) for `columns` <= kTileColumns. add_term(window, k, first) adds term k to the
// window's accumulators, or sets them to +0 plus term k when it is the `first` of the window; it is called once per term, in
// ascending order. The fp32 sum is multiplied in fp32 (a scale of 1 changes no bit) and rounded once to Out.
template <class Out, class AddTerm>
inline void sum_terms(int64_t terms, const AddTerm& add_term, int64_t columns, RowAccumulators& accumulators,
                      F32 scale, Out* out) {
  bool chunk_is_empty = true;
  bool total_is_empty = true;
  for (int64_t begin = 0; begin < terms; begin += kWindowTerms) {
    const int64_t end = begin + kWindowTerms < terms ? begin + kWindowTerms : terms;
    for (int64_t k = begin; k < end; ++k) add_term(accumulators.window, k, k == begin);
    add_row(accumulators.chunk, accumulators.window, columns, chunk_is_empty);
    chunk_is_empty = false;
    if (end == terms || end % kChunkTerms == 0) {
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

// The sum of any number of rows of `columns` <= kTileColumns elements, for inputs and outputs of any stride.
// row_start(k): the address of row k's first element. Without rows the result is +0.
template <class In, class Out, class RowStart>
inline void sum_strided_rows(int64_t rows, const RowStart& row_start, int64_t in_stride, int64_t columns,
                             RowAccumulators& accumulators, F32 scale, Out* out, int64_t out_stride) {
  Out scattered[kTileColumns];
  In gathered[kTileColumns];
  Out* const result = out_stride == 1 ? out : scattered;
  if (rows == 0) {
    std::memset(static_cast<void*>(result), 0, static_cast<size_t>(columns) * sizeof(Out));
  } else if (in_stride == 1 && rows <= kFewRows) {
    sum_few_rows<In>(rows, row_start, columns, scale, result);
  } else if (in_stride == 1) {
    const auto add = [&](float* window, int64_t k, bool first) {
      add_row(window, row_start(k), columns, first);
    };
    sum_terms(rows, add, columns, accumulators, scale, result);
  } else {
    const auto add = [&](float* window, int64_t k, bool first) {
      const In* const from = row_start(k);
      for (int64_t c = 0; c < columns; ++c) gathered[c] = from[c * in_stride];
      add_row(window, gathered, columns, first);
    };
    sum_terms(rows, add, columns, accumulators, scale, result);
  }
  if (result != out) {
    for (int64_t c = 0; c < columns; ++c) out[c * out_stride] = scattered[c];
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
