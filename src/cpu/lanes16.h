// Vectors of sixteen floats on every instruction set, for sums whose order of additions determines the
// result's bits. This order must not depend on the vector width.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/pairs.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

struct Lanes16 {
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kParts = kLanes / F32::kLanes;
  F32 part[kParts];

  template <class Storage>
  static Lanes16 load(const Storage* from);
};

// Unroll factor of loops over the parts. Vectors stay in registers only if loops are unrolled. Sixteen single
// floats stay a loop: their conversions to and from 16 bits branch. Unrolled, one kernel took 62 s instead of
// 11 s to compile.
inline constexpr int kUnrolledParts = Lanes16::kParts <= 4 ? 16 : 1;

HWY_INLINE Lanes16 multiply_add(const Lanes16& a, const Lanes16& b, const Lanes16& sum) {
  Lanes16 more;
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p)
    more.part[p] = multiply_add(a.part[p], b.part[p], sum.part[p]);
  return more;
}
HWY_INLINE Lanes16 multiply_add(F32 a, const Lanes16& b, const Lanes16& sum) {
  Lanes16 more;
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) more.part[p] = multiply_add(a, b.part[p], sum.part[p]);
  return more;
}

template <class Storage>
HWY_INLINE Lanes16 Lanes16::load(const Storage* from) {
  Lanes16 value;
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) value.part[p] = F32::load(from + p * F32::kLanes);
  return value;
}
template <class Storage>
HWY_INLINE void store(const Lanes16& value, Storage* to) {
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) store(value.part[p], to + p * F32::kLanes);
}

// 32 elements at once, which fill vectors of 16-bit elements on every instruction set.
template <bool kStreams, class Storage>
HWY_INLINE void write_both(const Lanes16& lower, const Lanes16& upper, Storage* to) {
#if HWY_TARGET == HWY_SCALAR
  store(lower, to);
  store(upper, to + Lanes16::kLanes);
#else
  constexpr int64_t kVectors = 2 * Lanes16::kParts;
#pragma GCC unroll 16
  for (int64_t k = 0; k < kVectors; k += 2) {
    const auto part = [&](int64_t p) {
      return p < Lanes16::kParts ? lower.part[p] : upper.part[p - Lanes16::kParts];
    };
    const F32x2 pair = {part(k), part(k + 1)};
    if constexpr (kStreams) {
      stream_in_order<float>(pair, to + k * F32::kLanes);
    } else {
      store_in_order<float>(pair, to + k * F32::kLanes);
    }
  }
#endif
}
template <class Storage>
HWY_INLINE void store(const Lanes16& lower, const Lanes16& upper, Storage* to) {
  write_both<false>(lower, upper, to);
}
template <class Storage>  // non-temporal; `to` is aligned to kStreamAlignment
HWY_INLINE void stream(const Lanes16& lower, const Lanes16& upper, Storage* to) {
  write_both<true>(lower, upper, to);
}

#if HWY_TARGET != HWY_SCALAR
// Sums the lanes of a vector: adds halves until four lanes are left, then lanes at distance 2, then 1.
template <class Tag>
HWY_INLINE float sum_of_vector(Tag tag, hn::Vec<Tag> vector) {
  if constexpr (hn::MaxLanes(tag) == 4) {
    const auto pairs = hn::Add(vector, hn::Shuffle1032(vector));
    return hn::GetLane(hn::Add(pairs, hn::Shuffle2301(pairs)));
  } else {
    const hn::Half<Tag> half;
    return sum_of_vector(half, hn::Add(hn::LowerHalf(half, vector), hn::UpperHalf(half, vector)));
  }
}
#endif

// Sums all lanes in one order: lane l plus lane l + 8, then distances 4, 2 and 1.
HWY_INLINE float sum_of_lanes(const Lanes16& lanes) {
  F32 part[Lanes16::kParts];
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) part[p] = lanes.part[p];
  for (int64_t half = Lanes16::kParts / 2; half > 0; half /= 2) {
    for (int64_t p = 0; p < half; ++p) part[p] = part[p] + part[p + half];
  }
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(part[0].raw);
#else
  return sum_of_vector(F32::Tag(), part[0].raw);
#endif
}

// Computes kCount such sums with the same bits. Wide vectors process two of them per instruction.
template <int kCount>
HWY_INLINE void sums_of_lanes(const Lanes16 (&lanes)[kCount], float (&sums)[kCount]) {
  int k = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (F32::kLanes >= 8) {
#pragma GCC unroll 4
    for (; k + 2 <= kCount; k += 2) {
      const F32::Tag tag;
      F32 x = lanes[k].part[0], y = lanes[k + 1].part[0];
#pragma GCC unroll 2
      for (int64_t p = 1; p < Lanes16::kParts; ++p) {  // at most one iteration: lane l plus lane l + 8
        x = x + lanes[k].part[p];
        y = y + lanes[k + 1].part[p];
      }
      auto both = hn::Add(hn::ConcatLowerLower(tag, y.raw, x.raw), hn::ConcatUpperUpper(tag, y.raw, x.raw));
      if constexpr (hn::MaxLanes(F32::Tag()) == 16) both = hn::Add(both, hn::SwapAdjacentBlocks(both));
      both = hn::Add(both, hn::Shuffle1032(both));
      both = hn::Add(both, hn::Shuffle2301(both));
      const hn::Half<F32::Tag> half;
      sums[k] = hn::GetLane(both);
      sums[k + 1] = hn::GetLane(hn::UpperHalf(half, both));
    }
  }
#endif
#pragma GCC unroll 4
  for (; k < kCount; ++k) sums[k] = sum_of_lanes(lanes[k]);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
