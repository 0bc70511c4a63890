// Pairs of float vectors, in the element order that makes unpacking a storage type cheapest.
//
// A vector of bfloat16 holds two floats in each 32-bit word. Shifting the words up gives the even elements;
// clearing their lower halves gives the odd ones. No element crosses a lane, and packing reverses the steps.
// Other types are two consecutive vectors. Elementwise arithmetic works in any order; code that depends on
// the order stores with store_in_order().
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/simd.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

struct F32x2 {
  static constexpr int64_t kLanes = 2 * F32::kLanes;
  F32 a, b;

  template <class Storage>
  static F32x2 load(const Storage* from);
  static F32x2 load(const Bfloat16* from);
};

HWY_INLINE F32x2 operator+(const F32x2& x, const F32x2& y) { return {x.a + y.a, x.b + y.b}; }
HWY_INLINE F32x2 operator*(const F32x2& x, const F32x2& y) { return {x.a * y.a, x.b * y.b}; }
HWY_INLINE F32x2 operator*(F32 x, const F32x2& y) { return {x * y.a, x * y.b}; }

HWY_INLINE F32x2 multiply_add(F32 x, const F32x2& y, const F32x2& sum) {
  return {multiply_add(x, y.a, sum.a), multiply_add(x, y.b, sum.b)};
}

HWY_INLINE F32x2 canonical(const F32x2& x) { return {canonical(x.a), canonical(x.b)}; }

// Elements at which either vector has NaN.
HWY_INLINE hn::Mask<F32::Tag> nans_of(const F32x2& x) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // One instruction compares both. Highway tests each vector.
#if HWY_TARGET == HWY_AVX3
  return {_mm512_cmp_ps_mask(x.a.raw.raw, x.b.raw.raw, _CMP_UNORD_Q)};
#else
  return {_mm256_cmp_ps(x.a.raw.raw, x.b.raw.raw, _CMP_UNORD_Q)};
#endif
#else
  return hn::Or(hn::IsNaN(x.a.raw), hn::IsNaN(x.b.raw));
#endif
}

HWY_INLINE bool has_nan(const F32x2& x) { return !hn::AllFalse(F32::Tag(), nans_of(x)); }

// Whether any of many pairs has NaN. A loop that asks only at its end needs fewer instructions.
class AnyNan {
 public:
  HWY_INLINE void add(const F32x2& x) { nans_ = hn::Or(nans_, nans_of(x)); }
  HWY_INLINE explicit operator bool() const { return !hn::AllFalse(F32::Tag(), nans_); }

 private:
  hn::Mask<F32::Tag> nans_ = hn::IsNaN(hn::Zero(F32::Tag()));
};

// Whether loads of one type and stores of another preserve the order of elements.
template <class T>
inline constexpr bool kIsInterleaved = std::is_same_v<T, Bfloat16>;
template <class From, class To>
inline constexpr bool kHaveSameOrder = kIsInterleaved<From> == kIsInterleaved<To>;

// ---- Loads of kLanes elements ----

template <class Storage>
HWY_INLINE F32x2 F32x2::load(const Storage* from) {
  return {F32::load(from), F32::load(from + F32::kLanes)};
}
HWY_INLINE F32x2 F32x2::load(const Bfloat16* from) {
  const U32Tag u32;
  const F32::Tag f32;
  const auto words = hn::LoadU(u32, reinterpret_cast<const uint32_t*>(from));
  return {F32(hn::BitCast(f32, hn::ShiftLeft<16>(words))),
          F32(hn::BitCast(f32, hn::And(words, hn::Set(u32, 0xFFFF0000u))))};
}

// ---- Stores. 16-bit types require numbers without NaN; floats are stored unchanged ----

HWY_INLINE void store_numbers(const F32x2& value, float* to) {
  hn::StoreU(value.a.raw, F32::Tag(), to);
  hn::StoreU(value.b.raw, F32::Tag(), to + F32::kLanes);
}

#if HWY_TARGET != HWY_SCALAR
// Rounds both halves to nearest even, with the odd elements in the upper halves of the words. The upper and
// the lower halves of all floats are collected first, so that 16-bit lanes round both at once. An upper half
// is incremented if the lower half, plus 1 if the upper is odd, exceeds half of its range.
HWY_INLINE hn::Vec<U32Tag> bfloat16_words(const F32x2& value) {
  const U32Tag u32;
  const hn::Repartition<uint16_t, U32Tag> u16;
  const auto even = hn::BitCast(u32, value.a.raw);
  const auto odd = hn::BitCast(u32, value.b.raw);
  const auto upper = hn::OddEven(hn::BitCast(u16, odd), hn::BitCast(u16, hn::ShiftRight<16>(even)));
  const auto lower = hn::OddEven(hn::BitCast(u16, hn::ShiftLeft<16>(odd)), hn::BitCast(u16, even));
#if HWY_TARGET == HWY_AVX3
  // Setting the lowest bit of a lower half changes the comparison only for a tie.
  const auto with_parity = hn::OrAnd(lower, upper, hn::Set(u16, 1));
  const auto exceeds_half = hn::Gt(with_parity, hn::Set(u16, 0x8000));
  return hn::BitCast(u32, hn::IfThenElse(exceeds_half, hn::Add(upper, hn::Set(u16, 1)), upper));
#else
  const auto parity = hn::And(upper, hn::Set(u16, 1));
  // (lower + 0x7FFF + parity) >> 16
  const auto carry = hn::ShiftRight<15>(hn::AverageRound(lower, hn::Add(parity, hn::Set(u16, 0x7FFE))));
  return hn::BitCast(u32, hn::Add(upper, carry));
#endif
}
#endif

HWY_INLINE void store_numbers(const F32x2& value, Bfloat16* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = narrow_bf16(hn::GetLane(value.a.raw));
  to[1] = narrow_bf16(hn::GetLane(value.b.raw));
#else
  hn::StoreU(bfloat16_words(value), U32Tag(), reinterpret_cast<uint32_t*>(to));
#endif
}

#if HWY_TARGET != HWY_SCALAR
// The two vectors are consecutive.
HWY_INLINE hn::Vec<U32Tag> float16_words(const F32x2& value) {
  const hn::Rebind<hwy::float16_t, F32::Tag> f16;
  const U16Tag half;
  const hn::Repartition<uint16_t, U32Tag> whole;
  const auto bits = [&](F32 x) { return hn::BitCast(half, hn::DemoteTo(f16, x.raw)); };
  return hn::BitCast(U32Tag(), hn::Combine(whole, bits(value.b), bits(value.a)));
}
#endif

HWY_INLINE void store_numbers(const F32x2& value, Float16* to) {
#if HWY_TARGET == HWY_SCALAR
  to[0] = narrow_f16(hn::GetLane(value.a.raw));
  to[1] = narrow_f16(hn::GetLane(value.b.raw));
#else
  hn::StoreU(float16_words(value), U32Tag(), reinterpret_cast<uint32_t*>(to));
#endif
}

template <class Storage>
HWY_INLINE void store(const F32x2& value, Storage* to) {
  store_numbers(canonical(value), to);
}

// ---- Strips ----

// Consecutive pairs that are loaded together, before anything is computed. Memory is fastest when a kernel
// reads a few whole lines in a row (measured on Zen 4).
//
// Made pair by pair, without a loop: g++ would call a function that fills an array in memory, for each strip.
template <int kPairs>
struct PairStrip {
  static constexpr int64_t kLanes = kPairs * F32x2::kLanes;
  F32x2 pair[kPairs];

  HWY_INLINE PairStrip() : PairStrip([](int) { return F32x2(); }) {}
  // Pair p is make(p).
  template <class Make>
  HWY_INLINE explicit PairStrip(const Make& make)
      : PairStrip(make, std::make_integer_sequence<int, kPairs>()) {}

  template <class Storage>
  static HWY_INLINE PairStrip load(const Storage* from) {
    return PairStrip([from](int p) { return F32x2::load(from + p * F32x2::kLanes); });
  }

 private:
  template <class Make, int... p>
  HWY_INLINE PairStrip(const Make& make, std::integer_sequence<int, p...>) : pair{make(p)...} {}
};
template <int kPairs>
HWY_INLINE PairStrip<kPairs> operator+(const PairStrip<kPairs>& x, const PairStrip<kPairs>& y) {
  return PairStrip<kPairs>([&](int p) { return x.pair[p] + y.pair[p]; });
}
template <int kPairs>
HWY_INLINE void store_numbers(const PairStrip<kPairs>& strip, float* to) {
#pragma GCC unroll 8
  for (int p = 0; p < kPairs; ++p) store_numbers(strip.pair[p], to + p * F32x2::kLanes);
}

// ---- Non-temporal stores, for results larger than the caches; `to` is aligned to kStreamAlignment ----

inline constexpr uintptr_t kStreamAlignment = 64;
inline constexpr bool kHasStreams = HWY_TARGET != HWY_SCALAR;  // otherwise they are ordinary stores

template <class Storage>
HWY_INLINE void stream_numbers(const F32x2& value, Storage* to) {
#if HWY_TARGET == HWY_SCALAR
  store_numbers(value, to);
#else
  if constexpr (std::is_same_v<Storage, float>) {
    hn::Stream(value.a.raw, F32::Tag(), to);
    hn::Stream(value.b.raw, F32::Tag(), to + F32::kLanes);
  } else if constexpr (std::is_same_v<Storage, Bfloat16>) {
    hn::Stream(bfloat16_words(value), U32Tag(), reinterpret_cast<uint32_t*>(to));
  } else {
    hn::Stream(float16_words(value), U32Tag(), reinterpret_cast<uint32_t*>(to));
  }
#endif
}
template <class Storage>
HWY_INLINE void stream(const F32x2& value, Storage* to) {
  stream_numbers(canonical(value), to);
}

// ---- Stores in the tensor's order, for a pair that was loaded from a `From`. Float: two consecutive vectors
// ----

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE hn::Vec<U32Tag> bfloat16_words_in_order(const F32x2& value) {
  const U32Tag u32;
  const hn::Repartition<uint16_t, U32Tag> u16;
  // Rounds to nearest even. The result is in the upper half of each word.
  const auto rounded = [&](F32 x) {
    const auto bits = hn::BitCast(u32, x.raw);
    const auto parity = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
    return hn::BitCast(u16, hn::Add(bits, hn::Add(parity, hn::Set(u32, 0x7FFF))));
  };
  return hn::BitCast(u32, hn::ConcatOdd(u16, rounded(value.b), rounded(value.a)));
}
#endif

// Writes a pair that was loaded from a To and has no NaN.
template <bool kStreams, class To>
HWY_INLINE void write_numbers(const F32x2& value, To* to) {
  kStreams ? stream_numbers(value, to) : store_numbers(value, to);
}

// Writes two consecutive vectors that have no NaN.
template <bool kStreams, class To>
HWY_INLINE void write_consecutive_numbers(const F32x2& value, To* to) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kIsInterleaved<To>) {
    const auto words = bfloat16_words_in_order(value);
    auto* const to_words = reinterpret_cast<uint32_t*>(to);
    return kStreams ? hn::Stream(words, U32Tag(), to_words) : hn::StoreU(words, U32Tag(), to_words);
  }
#endif
  write_numbers<kStreams>(value, to);
}

template <class From, class To>
HWY_INLINE void store_in_order(const F32x2& value, To* to) {
  if constexpr (kHaveSameOrder<From, To>) {
    store(value, to);
  } else if constexpr (kIsInterleaved<From>) {
    float ordered[F32x2::kLanes];
    hn::StoreInterleaved2(value.a.raw, value.b.raw, F32::Tag(), ordered);
    store(load(ordered), to);
    store(load(ordered + F32::kLanes), to + F32::kLanes);
  } else {
    write_consecutive_numbers<false>(canonical(value), to);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
