// Tokens added to the sums of windows: the inner loops of NsaCompress on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/add_rows.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The number of open windows to which a row is added together, so that it is converted only once.
inline constexpr int kWindowsTogether = 4;
// Tokens added together, whose sums stay in registers. A token of a single window is added alone unless several
// streams are read faster: see reads_streams() (cpu/add_rows.h).
inline constexpr int kTokensTogether = kReadsStreams ? 4 : 8;
inline constexpr bool kUnrollsTokens = kReadsStreams;  // twice as fast in the caches (Zen 3)
template <int kWindows>
inline constexpr bool kAddsTogether = kReadsStreams || kWindows > 1;

// The hardware doesn't prefetch so many rows together, so the kernel does: the same columns of later tokens, or
// what follows in memory if several tokens share a page.
template <int kWindows>
inline constexpr bool kPrefetches = kReadsStreams || kWindows > 1;
inline constexpr int64_t kTokenBytesPrefetched = int64_t{64} << 10;
inline constexpr int64_t kLinearBytesPrefetched = int64_t{16} << 10;

// Pairs of vectors whose sums stay in registers: as many as fit beside those of a token.
template <int kWindows>
inline constexpr int kPairsTogether = std::max(1, (F32::kLanes == 8 ? 4 : 8) / std::max(kWindows, 2));

// The address to prefetch for the first column of the first token, and its distances for later ones.
template <class T>
struct Prefetched {
  const T* first;
  int64_t column, row;  // elements
};

// Adds consecutive tokens to kWindows windows that cover them all, in one head with contiguous columns. A
// complete segment has kTokensTogether tokens.
template <int kWindows, class T>
struct Segment {
  const T* tokens;
  int64_t row;    // elements between tokens
  int64_t count;  // of tokens
  Prefetched<T> prefetched;
  const float* weights[kWindows];  // of all tokens
  float* accumulators[kWindows];
  bool is_first[kWindows];  // whether the first token is the first of a block of terms

  // Sets accumulators = (is_first ? +0 : accumulators) + weight * token, token by token.
  template <bool kIsComplete, bool kSomeFirst, int kPairs>
  HWY_INLINE void add(int64_t slot, int64_t column) const {
    F32x2 sum[kWindows][kPairs];
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) {
        sum[w][p] =
            kSomeFirst && is_first[w] ? F32x2() : load<F32x2>(accumulators[w] + slot + p * F32x2::kLanes);
      }
    }
    const T* from = tokens + column;
    const T* ahead = prefetched.first + column * prefetched.column;
    const auto add_token = [&](int64_t r) {
      if (kPrefetches<kWindows>) {
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) fetch<F32x2>(ahead + p * F32x2::kLanes);
      }
      F32x2 x[kPairs];
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) x[p] = load<F32x2>(from + p * F32x2::kLanes);
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        const F32 weight(weights[w][r]);
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) sum[w][p] = multiply_add(weight, x[p], sum[w][p]);
      }
      from += row;
      ahead += prefetched.row;
    };
    if constexpr (kIsComplete) {
#pragma GCC unroll 8
      for (int64_t r = 0; r < kTokensTogether; ++r) add_token(r);
    } else {
      for (int64_t r = 0; r < count; ++r) add_token(r);
    }
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) store_numbers(sum[w][p], accumulators[w] + slot + p * F32x2::kLanes);
    }
  }

  // Returns the first column that is left.
  template <bool kIsComplete, bool kSomeFirst, int kPairs>
  HWY_INLINE int64_t add_strips(int64_t c, int64_t columns) const {
    constexpr int64_t kStep = kPairs * F32x2::kLanes;
    for (; c + kStep <= columns; c += kStep) add<kIsComplete, kSomeFirst, kPairs>(c, c);
    return c;
  }

  // Adds all columns, at least a pair of vectors. The last pair ends with the row, as in for_each_pair().
  template <bool kIsComplete, bool kSomeFirst>
  HWY_INLINE void add_all(int64_t columns) const {
    constexpr int kPairs = kPairsTogether<kWindows>;
    int64_t c = add_strips<kIsComplete, kSomeFirst, kPairs>(0, columns);
    if constexpr (kPairs > 2) c = add_strips<kIsComplete, kSomeFirst, 2>(c, columns);
    c = add_strips<kIsComplete, kSomeFirst, 1>(c, columns);
    if (c < columns) add<kIsComplete, kSomeFirst, 1>(c, columns - F32x2::kLanes);
  }
};

// ---- Several streams of tokens ----

// Narrow tokens share pages. The hardware follows only one stream in a page and prefetches little of it at a
// time. The trick: distant tokens are added together, each to windows of its own. Memory then delivers
// several streams. In 16 bits this needs too many instructions: every token loads and stores its sums.
template <class T>
inline constexpr bool kStreamsNarrowTokens = kReadsStreams && (std::is_same_v<T, float>);
inline constexpr int kTokenStreams = 4;
inline constexpr int64_t kMostStreamWindows = 2;   // windows that cover a token; with more it is slower
inline constexpr int64_t kLeastStreamLength = 32;  // windows; two streams read the tokens where they meet

// Adds one token of each stream to kWindows windows of that stream, in one head with contiguous columns. All
// streams are at the same term of their windows.
template <int kWindows, class T>
struct StreamStep {
  const T* token;                 // of the first stream
  int64_t tokens_apart;           // elements between the tokens of two streams
  float* accumulators[kWindows];  // of the first stream
  int64_t slots_apart;            // between the accumulators of two streams
  F32 weight[kWindows];
  bool is_first[kWindows];  // whether the tokens are the first of a block of terms

  // Sets accumulators = (is_first ? +0 : accumulators) + weight * token, stream by stream. At least a pair of
  // vectors of columns.
  template <bool kSomeFirst>
  HWY_INLINE void add_all(int64_t columns) const {
    for_each_pair(columns, [&](int64_t slot, int64_t column) {
#pragma GCC unroll 8
      for (int s = 0; s < kTokenStreams; ++s) {
        const F32x2 x = load<F32x2>(token + s * tokens_apart + column);
#pragma GCC unroll 8
        for (int w = 0; w < kWindows; ++w) {
          float* const sum = accumulators[w] + s * slots_apart + slot;
          const F32x2 before = kSomeFirst && is_first[w] ? F32x2() : load<F32x2>(sum);
          store_numbers(multiply_add(weight[w], x, before), sum);
        }
      }
    });
  }
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
