// Adding rows to sums in L1, the inner loops of cpu/rows.h: in the order in which memory is read fastest, with
// prefetches if they help.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sum_order.h"
#include "cpu/dispatch.h"
#include "cpu/pairs.h"
#include "cpu/prefetch.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The rows of one sum. start(k) returns the address of row k. The first `count` rows are summed. Rows up to
// `known` are what the thread reads next, and are only prefetched. `distance` is the number of elements from
// each row to the next one, or 0 if it varies.
template <class RowStart>
struct Rows {
  int64_t count, known;
  RowStart start;
  int64_t distance = 0;
};
template <class RowStart>
Rows(int64_t, int64_t, RowStart, int64_t = 0) -> Rows<RowStart>;

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

// ---- Rows at a constant distance, as several streams ----

// Whether to read rows at a constant distance as several streams, each in pages of its own, and to leave
// prefetching to the hardware. Memory then delivers more than to one stream. Sums of rows rose from 0.45 to 0.9
// of the speed of reading alone on a Zen 3, which has no AVX-512, and from 0.7 to 1.1 on an Emerald Rapids.
// Prefetches by software made the streams slower. A Zen 4 with AVX-512 prefers single rows (RowGroup).
inline constexpr bool kReadsStreams = HWY_TARGET == HWY_AVX2;  // on every processor
inline bool reads_streams() {
  if constexpr (HWY_TARGET == HWY_AVX3) return cpu::reads_several_streams();
  return kReadsStreams;
}
inline constexpr int kRowStreams = 8;    // rows, if they are a page or more apart
inline constexpr int kBlockStreams = 4;  // otherwise blocks of terms
// Consecutive blocks of a stream. The hardware prefetches more of a stream that lasts a page or more.
inline constexpr int kStreamBlocks = 2;

// Returns whether rows so many elements apart share pages of memory. Any distance is valid.
template <class T>
inline bool share_pages(int64_t distance) {
  constexpr int64_t kPage = 4096 / static_cast<int64_t>(sizeof(T));
  return -kPage < distance && distance < kPage;
}

// Sets block[slot] to +0 plus the rows [begin, end), from left to right, kTogether of them at a time.
template <int kTogether, class RowStart>
inline void add_rows_together(const Rows<RowStart>& rows, int64_t begin, int64_t end, int64_t columns,
                              float* block) {
  const auto add = [&]<int kRows>(int64_t k) {
    const auto* const first = rows.start(k);
    for_each_pair(columns, [&](int64_t slot, int64_t column) {
      F32x2 sum = k == begin ? F32x2() : load<F32x2>(block + slot);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum = sum + load<F32x2>(first + r * rows.distance + column);
      store_numbers(sum, block + slot);
    });
  };
  int64_t k = begin;
  for (; k + kTogether <= end; k += kTogether) add.template operator()<kTogether>(k);
  for (; k < end; ++k) add.template operator()<1>(k);
}

// Sets blocks[b * slots_for(columns) + slot] to +0 plus the rows of block b, from left to right, for kBlockStreams
// complete blocks of terms: b = 0, `apart`, 2 * `apart` and so on. Block 0 begins at row `begin`.
template <class RowStart>
inline void add_blocks_together(const Rows<RowStart>& rows, int64_t begin, int64_t apart, int64_t columns,
                                float* blocks) {
  const int64_t slots_apart = apart * slots_for(columns);
  const int64_t terms_apart = apart * kBlockTerms * rows.distance;
  const auto add = [&]<bool kIsFirst>(const auto* row) {
    for_each_pair(columns, [&](int64_t slot, int64_t column) {
#pragma GCC unroll 8
      for (int s = 0; s < kBlockStreams; ++s) {
        float* const sum = blocks + s * slots_apart + slot;
        const F32x2 before = kIsFirst ? F32x2() : load<F32x2>(sum);
        store_numbers(before + load<F32x2>(row + s * terms_apart + column), sum);
      }
    });
  };
  add.template operator()<true>(rows.start(begin));
  for (int64_t k = 1; k < kBlockTerms; ++k) add.template operator()<false>(rows.start(begin + k));
}

// The same for rows of one or two pairs, whose sums stay in registers.
template <class RowStart>
inline void add_narrow_blocks_together(const Rows<RowStart>& rows, int64_t begin, int64_t apart,
                                       int64_t columns, float* blocks) {
  const int64_t last_pair = columns - F32x2::kLanes;
  const int64_t terms_apart = apart * kBlockTerms * rows.distance;
  const auto* row = rows.start(begin);
  PairStrip<2> sums[kBlockStreams];
  for (int64_t k = 0; k < kBlockTerms; ++k, row += rows.distance) {
#pragma GCC unroll 8
    for (int s = 0; s < kBlockStreams; ++s) {
      const auto* const from = row + s * terms_apart;
      sums[s].pair[0] = sums[s].pair[0] + load<F32x2>(from);
      sums[s].pair[1] = sums[s].pair[1] + load<F32x2>(from + last_pair);
    }
  }
  for (int s = 0; s < kBlockStreams; ++s) {
    float* const to = blocks + s * apart * slots_for(columns);
    store_numbers(sums[s].pair[0], to);
    if (last_pair > 0) store_numbers(sums[s].pair[1], to + F32x2::kLanes);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
