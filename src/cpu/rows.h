// Sums of rows in the library's one order of additions, shared by every operator that adds rows.
//
// The order: the rows of one sum are numbered from 0. A block of terms is 64 consecutive rows, added in fp32
// from left to right to an accumulator that starts at +0. A superblock is 8 blocks, whose sums are added in
// fp32 from left to right. Superblock sums are added from left to right in fp64, and the total is rounded
// once to fp32. Long sums stay accurate, and all machines compute the same bits.
//
// For speed, wide rows are read linearly and narrow rows in small groups. Both are processed in tiles of up
// to kTileColumns columns whose accumulators stay in L1, and later rows are prefetched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "base/sum_order.h"
#include "cpu/pairs.h"
#include "cpu/prefetch.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Columns summed together. A multiple of F32x2::kLanes on every instruction set.
inline constexpr int64_t kTileColumns = 4096;

// Returns the width of each tile if `columns` are divided into tiles of about equal width.
inline int64_t tile_columns(int64_t columns) {
  constexpr int64_t kLine = 64;
  const int64_t part = even_part(std::max<int64_t>(columns, 1), kTileColumns);
  return ceil_div(part, kLine) * kLine;
}

// Accumulators of one tile, in the scratch memory of a thread (cpu/scratch.h).
struct alignas(64) RowAccumulators {
  float block[kTileColumns];
  float superblock[kTileColumns];
  double total[kTileColumns];
};

// The rows of one sum. start(k) returns the address of row k. The first `count` rows are summed. Rows up to
// `known` are what the thread reads next, and are only prefetched.
template <class RowStart>
struct Rows {
  int64_t count, known;
  RowStart start;
};
template <class RowStart>
Rows(int64_t, int64_t, RowStart) -> Rows<RowStart>;

// Calls visit(slot, column) for each pair of vectors of a row. `slot` counts in whole pairs. The last pair is
// shifted back to end with the row, so that nothing beyond it is accessed. Some columns are then computed
// twice, with the same result.
template <class Visit>
HWY_INLINE void for_each_pair(int64_t columns, const Visit& visit) {
  int64_t c = 0;
  for (; c + F32x2::kLanes <= columns; c += F32x2::kLanes) visit(c, c);
  if (c < columns) visit(c, columns - F32x2::kLanes);
}

// As many pairs of an In as four lines hold, or fit into registers.
template <class In>
using Strip = PairStrip<std::clamp<int>(4 * kLineBytes / (F32x2::kLanes * sizeof(In)), 1, 4)>;

// Calls visit(strip, slot, column) for strips of V as far as they fit, and then for single pairs, like
// for_each_pair(). `strip` is +0.
template <class V, class Visit>
HWY_INLINE void for_each_strip(int64_t columns, const Visit& visit) {
  int64_t c = 0;
  for (; c + V::kLanes <= columns; c += V::kLanes) visit(V(), c, c);
  for (; c + F32x2::kLanes <= columns; c += F32x2::kLanes) visit(F32x2(), c, c);
  if (c < columns) visit(F32x2(), c, columns - F32x2::kLanes);
}

// Returns the number of accumulators that for_each_pair and for_each_strip need for so many columns.
inline int64_t slots_for(int64_t columns) {
  return (columns + F32x2::kLanes - 1) / F32x2::kLanes * F32x2::kLanes;
}

// The distance in bytes between what is read and what is prefetched.
inline constexpr int64_t kBytesAhead = 4096;

// A distance in bytes as rows of so many columns, at least one row.
template <class In>
inline int64_t rows_ahead(int64_t columns, int64_t bytes) {
  return std::max<int64_t>(bytes / (columns * static_cast<int64_t>(sizeof(In))), 1);
}

// kRows consecutive rows of so many columns, and the rows to prefetch while reading them (cpu/prefetch.h).
template <int kRows, class In>
struct RowGroup {
  const In* row[kRows];
  const In* near[kRows];
  const In* far[kRows];
  // Whether each row begins where the previous one ends. The hardware prefetches such rows itself, and helped
  // too much it becomes slower: prefetching every line, or into L1, cost up to half of the speed (Zen 4).
  bool is_linear;

  template <class RowStart>
  RowGroup(const Rows<RowStart>& rows, int64_t first, int64_t columns) : is_linear(true) {
    const int64_t row_bytes = columns * static_cast<int64_t>(sizeof(In));
    const int64_t near_rows = rows_before(kNearBytes, row_bytes),
                  far_rows = rows_before(kFarBytes, row_bytes);
    for (int k = 0; k < kRows; ++k) {
      const int64_t at = first + k;
      row[k] = rows.start(at);
      near[k] = rows.start(std::min(at + near_rows, rows.known - 1));
      far[k] = rows.start(std::min(at + far_rows, rows.known - 1));
      is_linear = is_linear && (at + 1 >= rows.known || rows.start(at + 1) == row[k] + columns);
    }
  }

  // kInCaches: whether the rows are probably in the caches, where fetches into L1 cost more than they save.
  template <bool kIsLinear, bool kInCaches = false, class V>
  HWY_INLINE V add_to(V sum, int64_t column) const {
#pragma GCC unroll 8
    for (int k = 0; k < kRows; ++k) {
      if (!kIsLinear) {
        fetch<V>(far[k] + column);
        if (!kInCaches) fetch_near<V>(near[k] + column);
      } else if (kRows == 1) {
        fetch<V>(row[k] + column + kBytesAhead / static_cast<int64_t>(sizeof(In)), 2 * kLineBytes);
      }
      sum = sum + load<V>(row[k] + column);
    }
    return sum;
  }
};

// Sets accumulators[slot] = (first ? +0 : accumulators[slot]) + the rows of the group, from left to right.
template <int kRows, class In>
inline void add_group(float* accumulators, const RowGroup<kRows, In>& group, int64_t columns, bool first) {
  const auto add = [&]<bool kIsLinear, bool kIsFirst>() {
    for_each_strip<Strip<In>>(columns, [&]<class V>(const V& zero, int64_t slot, int64_t column) {
      const V before = kIsFirst ? zero : load<V>(accumulators + slot);
      store_numbers(group.template add_to<kIsLinear>(before, column), accumulators + slot);
    });
  };
  if (group.is_linear) {
    first ? add.template operator()<true, true>() : add.template operator()<true, false>();
  } else {
    first ? add.template operator()<false, true>() : add.template operator()<false, false>();
  }
}

// Adds block sums to superblocks and totals. `block` holds the sum of the terms up to term `end` - 1, the
// last of a block or of all `terms`. It is added to the superblock, and a complete superblock is added to the
// total. After the last call the fp32 sums are in `superblock`. A sum of one block needs no call and is in
// `block`.
inline void join_term_block(int64_t end, int64_t terms, int64_t slots, const float* block, float* superblock,
                            double* total) {
  const int64_t begin = (end - 1) / kBlockTerms * kBlockTerms;
  const bool opens_superblock = begin % kSuperblockTerms == 0;
  for (int64_t c = 0; c < slots; ++c) superblock[c] = (opens_superblock ? 0.0f : superblock[c]) + block[c];
  if (terms <= kSuperblockTerms || (end < terms && end % kSuperblockTerms != 0)) return;
  const bool opens_total = end <= kSuperblockTerms;
  for (int64_t c = 0; c < slots; ++c)
    total[c] = (opens_total ? 0.0 : total[c]) + static_cast<double>(superblock[c]);
  if (end < terms) return;
  for (int64_t c = 0; c < slots; ++c) superblock[c] = static_cast<float>(total[c]);
}

// Sums `terms` >= 1 terms into `slots` accumulators and returns the location of the fp32 sums.
// add_term_block(block, begin, end) sets the accumulators of a block to +0 plus its terms [begin, end), in
// ascending order.
template <class AddBlock>
inline const float* sum_term_blocks(int64_t terms, const AddBlock& add_term_block, int64_t slots,
                                    RowAccumulators& accumulators) {
  auto& [block, superblock, total] = accumulators;
  for (int64_t begin = 0; begin < terms; begin += kBlockTerms) {
    const int64_t end = begin + kBlockTerms < terms ? begin + kBlockTerms : terms;
    add_term_block(block, begin, end);
    if (terms > kBlockTerms) join_term_block(end, terms, slots, block, superblock, total);
  }
  return terms > kBlockTerms ? superblock : block;
}

// The destination of a sum. The fp32 sum is multiplied by `scale` in fp32 (1 changes no bit) and rounded once
// to Out.
template <class Out>
struct SumTarget {
  Out* out;
  F32 scale;
  bool streams;  // whether to use non-temporal stores
};

// Writes pairs that were loaded from an In.
template <class In, bool kStreams, class Out>
HWY_INLINE void write_pair(const SumTarget<Out>& target, const F32x2& sum, int64_t column) {
  const F32x2 scaled = target.scale * sum;
  if constexpr (kStreams && kHaveSameOrder<In, Out>) {
    stream(scaled, target.out + column);
  } else {
    store_in_order<In>(scaled, target.out + column);
  }
}

// Calls write(std::bool_constant) with true if the row can use non-temporal stores.
template <class In, class Out, class Write>
HWY_INLINE void with_streaming(const SumTarget<Out>& target, int64_t columns, const Write& write) {
  if (kHasStreams && target.streams && kHaveSameOrder<In, Out> && columns % F32x2::kLanes == 0 &&
      reinterpret_cast<uintptr_t>(target.out) % kStreamAlignment == 0) {
    write(std::true_type());
  } else {
    write(std::false_type());
  }
}

// As many pairs of an In as two lines hold. Single pairs of 16 bits are half a line with AVX2, which was then
// prefetched twice: that cost a fifth of the speed.
template <class In>
using ShortStrip = PairStrip<std::clamp<int>(2 * kLineBytes / (F32x2::kLanes * sizeof(In)), 1, 4)>;

template <class In, bool kStreams, class Out, int kPairs>
HWY_INLINE void write_strip(const SumTarget<Out>& target, const PairStrip<kPairs>& sum, int64_t column) {
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) write_pair<In, kStreams>(target, sum.pair[p], column + p * F32x2::kLanes);
}
template <class In, bool kStreams, class Out>
HWY_INLINE void write_strip(const SumTarget<Out>& target, const F32x2& sum, int64_t column) {
  write_pair<In, kStreams>(target, sum, column);
}

// Sums a few rows: each column's sum stays in registers, and only the result is stored.
template <int kRows, class In, class Out, class RowStart>
inline void sum_few_rows(const Rows<RowStart>& rows, int64_t columns, const SumTarget<Out>& target) {
  const RowGroup<kRows, In> group(rows, 0, columns);
  with_streaming<In>(target, columns, [&](auto streams) {
    for_each_strip<ShortStrip<In>>(columns, [&](const auto& zero, int64_t, int64_t column) {
      write_strip<In, streams()>(target, group.template add_to<false, !streams()>(zero, column), column);
    });
  });
}

// Sums one or more contiguous rows of F32x2::kLanes <= columns <= kTileColumns.
template <class In, class Out, class RowStart>
inline void sum_rows(const Rows<RowStart>& rows, int64_t columns, RowAccumulators& accumulators,
                     const SumTarget<Out>& target) {
  switch (rows.count) {
    case 1: return sum_few_rows<1, In>(rows, columns, target);
    case 2: return sum_few_rows<2, In>(rows, columns, target);
    case 3: return sum_few_rows<3, In>(rows, columns, target);
    case 4: return sum_few_rows<4, In>(rows, columns, target);
    default: break;
  }
  // Narrow rows are processed in groups, which saves loads and stores of accumulators. Wide rows are
  // processed one by one, because memory is fastest when read in one stream.
  constexpr int kTogether = 4;
  const bool is_linear = RowGroup<1, In>(rows, 0, columns).is_linear;
  const int64_t narrow_bytes = is_linear ? 512 : 1024;
  const bool narrow = columns * static_cast<int64_t>(sizeof(In)) < narrow_bytes;
  const auto add_term_block = [&](float* block, int64_t begin, int64_t end) {
    int64_t k = begin;
    for (; narrow && k + kTogether <= end; k += kTogether)
      add_group(block, RowGroup<kTogether, In>(rows, k, columns), columns, k == begin);
    for (; k < end; ++k) add_group(block, RowGroup<1, In>(rows, k, columns), columns, k == begin);
  };
  const float* const sums = sum_term_blocks(rows.count, add_term_block, slots_for(columns), accumulators);
  with_streaming<In>(target, columns, [&](auto streams) {
    for_each_pair(columns, [&](int64_t slot, int64_t column) {
      write_pair<In, streams()>(target, load<F32x2>(sums + slot), column);
    });
  });
}

inline constexpr int64_t kNarrowColumns = 4;  // up to here scalar additions are faster than partial vectors

// Sums one or more rows of up to kNarrowColumns columns with any strides, column by column.
template <class In, class Out, class RowStart>
inline void sum_narrow_rows(const Rows<RowStart>& rows, int64_t in_stride, int64_t columns,
                            const SumTarget<Out>& target, int64_t out_stride) {
  for (int64_t c = 0; c < columns; ++c) {
    double total = 0;
    float superblock = 0;
    for (int64_t begin = 0; begin < rows.count; begin += kBlockTerms) {
      const int64_t end = begin + kBlockTerms < rows.count ? begin + kBlockTerms : rows.count;
      float block = 0;
      for (int64_t k = begin; k < end; ++k) block += to_float(rows.start(k)[c * in_stride]);
      superblock += block;
      if (end == rows.count || end % kSuperblockTerms == 0) {
        total += static_cast<double>(superblock);
        superblock = 0;
      }
    }
    store_first(F32(static_cast<float>(total)) * target.scale, target.out + c * out_stride, 1);
  }
}

// Sums one or more rows of up to kGatheredColumns columns with any strides. Each row is gathered before it is
// added.
inline constexpr int64_t kGatheredColumns = 1024;
template <class In, class Out, class RowStart>
inline void sum_gathered_rows(const Rows<RowStart>& rows, int64_t in_stride, int64_t columns,
                              RowAccumulators& accumulators, const SumTarget<Out>& target,
                              int64_t out_stride) {
  In gathered[kGatheredColumns] = {};
  auto& first_pair = reinterpret_cast<In(&)[F32x2::kLanes]>(gathered);
  const int64_t width = std::max(columns, F32x2::kLanes);
  const Rows gathered_row{int64_t{1}, int64_t{1}, [&](int64_t) -> const In* { return gathered; }};
  const RowGroup<1, In> group(gathered_row, 0, width);
  const auto add_term_block = [&](float* block, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const In* const from = rows.start(k);
      if (in_stride != 1) {
        for (int64_t c = 0; c < columns; ++c) gathered[c] = from[c * in_stride];
      } else if (columns <= F32x2::kLanes) {
        copy_in(from, columns, first_pair);
      } else {
        std::memcpy(static_cast<void*>(gathered), from, static_cast<size_t>(columns) * sizeof(In));
      }
      add_group(block, group, width, k == begin);
    }
  };
  const float* const sums = sum_term_blocks(rows.count, add_term_block, slots_for(width), accumulators);
  Out result[kGatheredColumns];
  for_each_pair(width, [&](int64_t slot, int64_t column) {
    write_pair<In, false>(SumTarget<Out>{result, target.scale, false}, load<F32x2>(sums + slot), column);
  });
  for (int64_t c = 0; c < columns; ++c) target.out[c * out_stride] = result[c];
}

// Sums any number of rows of up to kTileColumns columns with any stride. Without rows the sum is +0.
template <class In, class Out, class RowStart>
inline void sum_strided_rows(const Rows<RowStart>& rows, int64_t in_stride, int64_t columns,
                             RowAccumulators& accumulators, const SumTarget<Out>& target,
                             int64_t out_stride) {
  if (rows.count == 0) {
    for (int64_t c = 0; c < columns; ++c) target.out[c * out_stride] = Out();
    return;
  }
  if (in_stride == 1 && out_stride == 1 && columns >= F32x2::kLanes)
    return sum_rows<In>(rows, columns, accumulators, target);
  if (columns <= kNarrowColumns) return sum_narrow_rows<In>(rows, in_stride, columns, target, out_stride);
  for (int64_t begin = 0; begin < columns; begin += kGatheredColumns) {
    const Rows piece{rows.count, rows.known, [&](int64_t k) { return rows.start(k) + begin * in_stride; }};
    const SumTarget<Out> piece_target = {target.out + begin * out_stride, target.scale, false};
    sum_gathered_rows<In>(piece, in_stride, std::min(columns - begin, kGatheredColumns), accumulators,
                          piece_target, out_stride);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
