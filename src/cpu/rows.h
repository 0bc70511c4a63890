// Sums of rows in the library's one order of additions, shared by every operator that adds rows.
//
// The order: the rows of one sum are numbered from 0. A block of terms is 64 consecutive rows, added in fp32
// from left to right to an accumulator that starts at +0. A superblock is 8 blocks, whose sums are added in
// fp32 from left to right. Superblock sums are added from left to right in fp64, and the total is rounded
// once to fp32. Long sums stay accurate, and all machines compute the same bits.
//
// For speed, rows are processed in tiles of up to kTileColumns columns whose accumulators stay in L1. Which
// rows are read together, and whether later ones are prefetched, depends on the processor: see
// reads_streams().
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "base/sum_order.h"
#include "cpu/add_rows.h"
#include "cpu/pairs.h"

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
// ascending order. It is given kBlocks complete blocks at a time as far as they go, then half as many, and so
// on. Their accumulators follow each other.
template <int kBlocks = 1, class AddBlock>
inline const float* sum_term_blocks(int64_t terms, const AddBlock& add_term_block, int64_t slots,
                                    RowAccumulators& accumulators) {
  auto& [block, superblock, total] = accumulators;
  for (int64_t begin = 0; begin < terms;) {
    int blocks = kBlocks;
    while (blocks > 1 && begin + blocks * kBlockTerms > terms) blocks /= 2;
    const int64_t last = begin + blocks * kBlockTerms;
    add_term_block(block, begin, std::min(last, terms));
    for (int b = 0; b < blocks; ++b, begin += kBlockTerms) {
      if (terms > kBlockTerms)
        join_term_block(std::min(begin + kBlockTerms, terms), terms, slots, block + b * slots, superblock,
                        total);
    }
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

// Writes a row of one or more columns with any stride. pair_at(slot, column) returns the pair of sums, loaded from an
// In, that for_each_pair() visits there.
template <class In, class Out, class PairAt>
inline void write_pairs(int64_t columns, const SumTarget<Out>& target, int64_t out_stride,
                        const PairAt& pair_at) {
  if (out_stride == 1 && columns >= F32x2::kLanes) {
    return with_streaming<In>(target, columns, [&](auto streams) {
      for_each_pair(columns, [&](int64_t slot, int64_t column) {
        write_pair<In, streams()>(target, pair_at(slot, column), column);
      });
    });
  }
  Out pair[F32x2::kLanes];
  const SumTarget<Out> whole = {pair, target.scale, false};
  const int64_t count = std::min(columns, F32x2::kLanes);
  for_each_pair(std::max(columns, F32x2::kLanes), [&](int64_t slot, int64_t column) {
    write_pair<In, false>(whole, pair_at(slot, column), 0);
    if (out_stride == 1) return copy_out(pair, target.out + column, count);
    for (int64_t k = 0; k < count; ++k) target.out[(column + k) * out_stride] = pair[k];
  });
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

// Sums more than four rows one after the other, or a few of them together if they are narrow.
template <class In, class RowStart>
inline const float* sum_linear_rows(const Rows<RowStart>& rows, int64_t columns,
                                    RowAccumulators& accumulators) {
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
  return sum_term_blocks(rows.count, add_term_block, slots_for(columns), accumulators);
}

// Returns whether each row begins where the previous one ends, as if one index has all positions of a batch.
template <class RowStart>
inline bool follow_each_other(const Rows<RowStart>& rows, int64_t columns) {
  for (int64_t k = 1; k < rows.count; ++k) {
    if (rows.start(k) != rows.start(k - 1) + columns) return false;
  }
  return true;
}

// Sums more than four rows as several streams (reads_streams()). Rows that are a page or more apart are streams
// themselves. Narrower ones share pages, so each stream takes whole blocks of terms. With two blocks for each of
// four streams, the blocks of 512 rows are read like this, where all in one line are read together, row by row:
//   blocks 0, 2, 4, 6   (`apart` is 2)
//   blocks 1, 3, 5, 7
// Blocks that are left over are read alone. The order of additions doesn't change: each block has its own sum, and
// sum_term_blocks() adds these sums in the order of the blocks.
template <class In, class RowStart>
inline const float* sum_streams(const Rows<RowStart>& rows, int64_t columns, RowAccumulators& accumulators) {
  const int64_t slots = slots_for(columns);
  if (!share_pages<In>(rows.distance) || kBlockStreams * slots > kTileColumns) {
    const auto add_term_block = [&](float* block, int64_t begin, int64_t end) {
      add_rows_together<kRowStreams>(rows, begin, end, columns, block);
    };
    return sum_term_blocks(rows.count, add_term_block, slots, accumulators);
  }
  const auto add_streams = [&](float* blocks, int64_t begin, int64_t apart) {
    columns <= 2 * F32x2::kLanes ? add_narrow_blocks_together(rows, begin, apart, columns, blocks)
                                 : add_blocks_together(rows, begin, apart, columns, blocks);
  };
  const auto add_term_blocks = [&](float* blocks, int64_t begin, int64_t end) {
    const int64_t count = ceil_div(end - begin, kBlockTerms);
    const int64_t apart = count / kBlockStreams;  // blocks of each stream
    for (int64_t b = 0; b < apart; ++b) add_streams(blocks + b * slots, begin + b * kBlockTerms, apart);
    for (int64_t b = apart * kBlockStreams; b < count; ++b) {
      const int64_t first = begin + b * kBlockTerms;
      add_rows_together<1>(rows, first, std::min(first + kBlockTerms, end), columns, blocks + b * slots);
    }
  };
  if (kStreamBlocks * kBlockStreams * slots > kTileColumns)
    return sum_term_blocks<kBlockStreams>(rows.count, add_term_blocks, slots, accumulators);
  return sum_term_blocks<kStreamBlocks * kBlockStreams>(rows.count, add_term_blocks, slots, accumulators);
}

// Sums one or more contiguous rows of F32x2::kLanes <= columns <= kTileColumns.
template <class In, class Out, class RowStart>
HWY_INLINE void sum_rows(const Rows<RowStart>& rows, int64_t columns, RowAccumulators& accumulators,
                         const SumTarget<Out>& target) {
  switch (rows.count) {
    case 1: return sum_few_rows<1, In>(rows, columns, target);
    case 2: return sum_few_rows<2, In>(rows, columns, target);
    case 3: return sum_few_rows<3, In>(rows, columns, target);
    case 4: return sum_few_rows<4, In>(rows, columns, target);
    default: break;
  }
  const bool several = reads_streams();
  const int64_t distance =
      several && rows.distance == 0 && follow_each_other(rows, columns) ? columns : rows.distance;
  const float* const sums =
      several && distance != 0
          ? sum_streams<In>(Rows{rows.count, rows.known, rows.start, distance}, columns, accumulators)
          : sum_linear_rows<In>(rows, columns, accumulators);
  write_pairs<In>(columns, target, 1, [&](int64_t slot, int64_t) { return load<F32x2>(sums + slot); });
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

// Sums one or more contiguous rows of less than a pair of vectors, whose sums stay in registers. Returns the location
// of the fp32 sums.
template <class In, class RowStart>
inline const float* sum_partial_pairs(const Rows<RowStart>& rows, int64_t columns,
                                      RowAccumulators& accumulators) {
  const auto add_term_block = [&](float* block, int64_t begin, int64_t end) {
    F32x2 sum = F32x2();
    for (int64_t k = begin; k < end; ++k) sum = sum + load_first<F32x2>(rows.start(k), columns);
    store_numbers(sum, block);
  };
  return sum_term_blocks(rows.count, add_term_block, F32x2::kLanes, accumulators);
}

// Sums up to kGatheredColumns columns, from `first` on, of one or more rows with any stride. Each row is gathered
// before it is added. Returns the location of the fp32 sums.
inline constexpr int64_t kGatheredColumns = 1024;
template <class In, class RowStart>
inline const float* sum_gathered_rows(const Rows<RowStart>& rows, int64_t in_stride, int64_t first,
                                      int64_t columns, RowAccumulators& accumulators) {
  In gathered[kGatheredColumns];
  const int64_t width = std::max(columns, F32x2::kLanes);
  std::fill(gathered + columns, gathered + width, In());
  const Rows gathered_row{int64_t{1}, int64_t{1}, [&](int64_t) -> const In* { return gathered; }};
  const RowGroup<1, In> group(gathered_row, 0, width);
  const auto add_term_block = [&](float* block, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const In* const from = rows.start(k) + first * in_stride;
      if (in_stride != 1) {
        for (int64_t c = 0; c < columns; ++c) gathered[c] = from[c * in_stride];
      } else {
        std::memcpy(static_cast<void*>(gathered), from, static_cast<size_t>(columns) * sizeof(In));
      }
      add_group(block, group, width, k == begin);
    }
  };
  return sum_term_blocks(rows.count, add_term_block, slots_for(width), accumulators);
}

// Sums any number of rows of up to kTileColumns columns with any stride. Without rows the sum is +0. Inlined, like
// sum_rows(): calls take 3 to 6 % of the time of a few short rows of FLOAT in L2 (Emerald Rapids).
template <class In, class Out, class RowStart>
HWY_INLINE void sum_strided_rows(const Rows<RowStart>& rows, int64_t in_stride, int64_t columns,
                                 RowAccumulators& accumulators, const SumTarget<Out>& target,
                                 int64_t out_stride) {
  if (rows.count == 0) {
    for (int64_t c = 0; c < columns; ++c) target.out[c * out_stride] = Out();
    return;
  }
  if (in_stride == 1 && out_stride == 1 && columns >= F32x2::kLanes)
    return sum_rows<In>(rows, columns, accumulators, target);
  if (columns <= kNarrowColumns) return sum_narrow_rows<In>(rows, in_stride, columns, target, out_stride);
  for (int64_t first = 0; first < columns; first += kGatheredColumns) {
    const int64_t width = std::min(columns - first, kGatheredColumns);
    const float* const sums = in_stride == 1 && columns < F32x2::kLanes
                                  ? sum_partial_pairs<In>(rows, columns, accumulators)
                                  : sum_gathered_rows<In>(rows, in_stride, first, width, accumulators);
    const SumTarget<Out> piece = {target.out + first * out_stride, target.scale, false};
    write_pairs<In>(width, piece, out_stride,
                    [&](int64_t slot, int64_t) { return load<F32x2>(sums + slot); });
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
