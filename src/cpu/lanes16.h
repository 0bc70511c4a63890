// Vectors of sixteen floats on every instruction set, for sums whose order of additions determines the
// result's bits. This order must not depend on the vector width.
//
// Vectors of four or eight lanes hold bfloat16 as pairs of even and odd elements (cpu/pairs.h). Elementwise
// arithmetic works in either order. Stores to the type that was loaded, and fold() of that type, restore the
// order of memory.
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

// Whether elements of T are held as pairs. A pair of larger vectors has more than sixteen lanes.
template <class T>
inline constexpr bool kLanes16ArePairs = (F32::kLanes > 1) &&
                                         (F32x2::kLanes <= Lanes16::kLanes) && kIsInterleaved<T>;

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

HWY_INLINE Lanes16 in_registers(Lanes16 value) {
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) value.part[p] = in_register(value.part[p]);
  return value;
}

template <class Storage>
HWY_INLINE Lanes16 Lanes16::load(const Storage* from) {
  Lanes16 value;
  if constexpr (kLanes16ArePairs<Storage>) {
#pragma GCC unroll kUnrolledParts
    for (int64_t p = 0; p < Lanes16::kParts; p += 2) {
      const F32x2 pair = F32x2::load(from + p * F32::kLanes);
      value.part[p] = pair.a;
      value.part[p + 1] = pair.b;
    }
  } else {
#pragma GCC unroll kUnrolledParts
    for (int64_t p = 0; p < Lanes16::kParts; ++p) value.part[p] = F32::load(from + p * F32::kLanes);
  }
  return value;
}
template <class Storage>
HWY_INLINE void store(const Lanes16& value, Storage* to) {
  if constexpr (kLanes16ArePairs<Storage>) {
#pragma GCC unroll kUnrolledParts
    for (int64_t p = 0; p < Lanes16::kParts; p += 2)
      store(F32x2{value.part[p], value.part[p + 1]}, to + p * F32::kLanes);
  } else {
#pragma GCC unroll kUnrolledParts
    for (int64_t p = 0; p < Lanes16::kParts; ++p) store(value.part[p], to + p * F32::kLanes);
  }
}

// Stores the parts as they are. NaN keeps its bits.
HWY_INLINE void store_numbers(const Lanes16& value, float* to) {
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p)
    hn::StoreU(value.part[p].raw, F32::Tag(), to + p * F32::kLanes);
}

// As many as fill a vector of 16-bit elements.
inline constexpr int kLanes16Together = F32::kLanes == 16 ? 2 : 1;

// Writes kLanes16Together consecutive ones, which were loaded from the same type. With non-temporal stores,
// their addresses are aligned to the size of a vector. The result is wrong if `nan` then holds.
template <bool kStreams, class Storage>
HWY_INLINE void write_together(const Lanes16 (&value)[kLanes16Together], Storage* to, AnyNan& nan) {
#if HWY_TARGET == HWY_SCALAR
  (void)nan;
  store(value[0], to);
#else
#pragma GCC unroll 8
  for (int64_t p = 0; p < kLanes16Together * Lanes16::kParts; p += 2) {
    const auto part = [&](int64_t k) { return value[k / Lanes16::kParts].part[k % Lanes16::kParts]; };
    const F32x2 pair = {part(p), part(p + 1)};
    nan.add(pair);
    if constexpr (kLanes16ArePairs<Storage>) {
      write_numbers<kStreams>(pair, to + p * F32::kLanes);
    } else {
      write_consecutive_numbers<kStreams>(pair, to + p * F32::kLanes);
    }
  }
#endif
}

#if HWY_TARGET != HWY_SCALAR
// Each result holds parts of the sums of x, and behind them those of y: in its halves, in both blocks of each
// half, in the pairs of each block, or in the elements of each pair.
HWY_INLINE F32 add_halves(F32 x, F32 y) {
  const F32::Tag tag;
  return hn::Add(hn::ConcatLowerLower(tag, y.raw, x.raw), hn::ConcatUpperUpper(tag, y.raw, x.raw));
}
HWY_INLINE F32 add_blocks(F32 x, F32 y) {
  return hn::Add(hn::OddEvenBlocks(y.raw, x.raw), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(x.raw, y.raw)));
}
HWY_INLINE F32 add_pairs(F32 x, F32 y) {
  const F32::Tag f32;
  const hn::Repartition<uint64_t, F32::Tag> u64;
  const auto a = hn::BitCast(u64, x.raw), b = hn::BitCast(u64, y.raw);
  return hn::Add(hn::BitCast(f32, hn::OddEven(b, a)), hn::BitCast(f32, hn::Shuffle01(hn::OddEven(a, b))));
}
HWY_INLINE F32 add_neighbours(F32 x, F32 y) {
  return hn::Add(hn::OddEven(y.raw, x.raw), hn::Shuffle2301(hn::OddEven(x.raw, y.raw)));
}

// Adds the first and the second half of a pair of even and odd elements, in the order of the elements.
HWY_INLINE F32 add_halves_of_pair(F32 even, F32 odd) {
  const F32::Tag tag;
  const F32 first(hn::InterleaveLower(tag, even.raw, odd.raw));
  const F32 second(hn::InterleaveUpper(tag, even.raw, odd.raw));
  // With eight lanes, either of them has parts of both halves.
  return F32::kLanes == 8 ? add_halves(first, second) : first + second;
}
#endif

// The sum of all lanes has one order on every instruction set: lane l plus lane l + 8, then distances 4, 2 and
// 1. fold() adds the lanes that are in different vectors, and the functions below add the rest. T is the type
// that the lanes were loaded from.
template <class T>
HWY_INLINE F32 fold(const Lanes16& lanes) {
  F32 part[Lanes16::kParts];
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) part[p] = lanes.part[p];
  constexpr int64_t kLeft = kLanes16ArePairs<T> ? 2 : 1;
#pragma GCC unroll 8
  for (int64_t left = Lanes16::kParts / 2; left >= kLeft; left /= 2) {
#pragma GCC unroll 8
    for (int64_t p = 0; p < left; ++p) part[p] = part[p] + part[p + left];
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kLanes16ArePairs<T>) return add_halves_of_pair(part[0], part[1]);
#endif
  return part[0];
}

#if HWY_TARGET != HWY_SCALAR
// Adds halves until four lanes are left, then lanes at distance 2, then 1.
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

template <class T>
HWY_INLINE float sum_of_lanes(const Lanes16& lanes) {
  const F32 folded = fold<T>(lanes);
#if HWY_TARGET == HWY_SCALAR
  return hn::GetLane(folded.raw);
#else
  return sum_of_vector(F32::Tag(), folded.raw);
#endif
}

// Returns the sums of F32::kLanes folded values that follow each other in memory. Adding vectors that hold parts
// of several sums takes a third of the instructions. With eight lanes, value k is k0 … k7, and its sum is
// ((k0 + k4) + (k2 + k6)) + ((k1 + k5) + (k3 + k7)), as in sum_of_vector():
//   blocks(k)          (k0+k4) (k1+k5) (k2+k6) (k3+k7) | the same of value k + 4
//   add_pairs(0, 2)    value 0: (00+04)+(02+06), (01+05)+(03+07); value 2: two sums | values 4 and 6
//   add_neighbours     the sums of values 0 1 2 3 | 4 5 6 7
HWY_INLINE F32 sums_of_folded(const float* folded) {
  const auto value = [&](int64_t k) { return load(folded + k * F32::kLanes); };
#if HWY_TARGET == HWY_SCALAR
  return value(0);
#else
  // Four partial sums of value k in the first block of four lanes, of value k + 4 in the second, and so on.
  const auto blocks = [&](int64_t k) {
    if constexpr (F32::kLanes == 16) {
      return add_blocks(add_halves(value(k), value(k + 8)), add_halves(value(k + 4), value(k + 12)));
    } else if constexpr (F32::kLanes == 8) {
      return add_blocks(value(k), value(k + 4));
    } else {
      return value(k);
    }
  };
  return add_neighbours(add_pairs(blocks(0), blocks(2)), add_pairs(blocks(1), blocks(3)));
#endif
}

// The same for `count` values, which is rounded up to a multiple of F32::kLanes.
HWY_INLINE void sums_of_folded(const float* folded, int64_t count, float* sums) {
  for (int64_t k = 0; k < count; k += F32::kLanes)
    hn::StoreU(sums_of_folded(folded + k * F32::kLanes).raw, F32::Tag(), sums + k);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
