// Vectors of floats with infix arithmetic, so that kernels read like their formulas, and the memory
// operations of kernels.
//
// A thin value type over Highway, compiled once per instruction set in that set's namespace. Every operation
// is one IEEE operation on each lane, so results do not depend on the vector width. Loads and stores widen
// exactly and round to nearest even with one canonical NaN. They never access a byte outside the given
// elements.
//
// The memory operations. V is F32, F32x2 (cpu/pairs.h) or Lanes16 (cpu/lanes16.h); memory has any storage
// type:
//   load<V>(from), load_first<V>(from, count)            V::kLanes elements; the first `count`, and +0 for the rest
//   store(value, to), store_first(value, to, count)      the reverse
//   store_numbers(pair, to)                              a store that does not check for NaN
//   stream(pair, to)                                     a non-temporal store
//   store_in_order<From>                                 for a pair loaded from a `From`, which may reorder elements
//   copy_in(from, count, buffer), copy_out(buffer, to, count)    unchanged elements
//   fetch<V>(from)                                       a prefetch
#pragma once

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/float16.h"
#include "base/multiply_add.h"

// The conversions, and therefore all bits, are verified only for these targets. Others may convert float16 in
// software that truncates.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_AVX2 && HWY_TARGET != HWY_AVX3 && HWY_TARGET != HWY_NEON
#error \
    "cpu/simd.h knows Highway's targets SCALAR, AVX2, AVX3 and NEON; see cmake/kernels.cmake for their flags"
#endif

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct F32 {
  using Tag = hn::ScalableTag<float>;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
  hn::Vec<Tag> raw;

  F32() : raw(hn::Zero(Tag())) {}
  F32(hn::Vec<Tag> vector) : raw(vector) {}
  F32(float value) : raw(hn::Set(Tag(), value)) {}

  static F32 load(const float* from);
  static F32 load(const Bfloat16* from);
  static F32 load(const Float16* from);
};

template <class V = F32, class Storage>
HWY_INLINE V load(const Storage* from) {
  return V::load(from);
}

HWY_INLINE F32 operator+(F32 a, F32 b) { return hn::Add(a.raw, b.raw); }
HWY_INLINE F32 operator-(F32 a, F32 b) { return hn::Sub(a.raw, b.raw); }
HWY_INLINE F32 operator*(F32 a, F32 b) { return hn::Mul(a.raw, b.raw); }
HWY_INLINE F32 operator/(F32 a, F32 b) { return hn::Div(a.raw, b.raw); }
HWY_INLINE F32 sqrt(F32 a) { return hn::Sqrt(a.raw); }

// Returns a * b + c, rounded once. Highway's scalar target would also round the product.
HWY_INLINE F32 multiply_add(F32 a, F32 b, F32 c) {
#if HWY_TARGET == HWY_SCALAR
  return F32(openaclnn::multiply_add(hn::GetLane(a.raw), hn::GetLane(b.raw), hn::GetLane(c.raw)));
#else
  return hn::MulAdd(a.raw, b.raw, c.raw);
#endif
}

// Keeps a value that was loaded and is used several times in a register. g++ would load it for each use.
HWY_INLINE F32 in_register(F32 a) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  __asm__("" : "+v"(a.raw.raw));
#endif
  return a;
}

// Returns the larger one; b if they are equal, and NaN if either is. Instruction sets differ in these cases.
HWY_INLINE F32 maximum(F32 a, F32 b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a.raw, b.raw), hn::IsNaN(a.raw)), a.raw, b.raw);
}

// Replaces every NaN by the canonical quiet NaN; the conversions below rely on it.
HWY_INLINE F32 canonical(F32 a) {
  const F32::Tag tag;
  const auto nan = hn::BitCast(tag, hn::Set(hn::RebindToUnsigned<F32::Tag>(), kCanonicalNanF32));
  return hn::IfThenElse(hn::IsNaN(a.raw), nan, a.raw);
}

// ---- float ----

HWY_INLINE F32 F32::load(const float* from) { return hn::LoadU(F32::Tag(), from); }
HWY_INLINE void store(F32 value, float* to) { hn::StoreU(canonical(value).raw, F32::Tag(), to); }

// ---- bfloat16: the upper half of a float ----

using U16Tag = hn::Rebind<uint16_t, F32::Tag>;
using U32Tag = hn::RebindToUnsigned<F32::Tag>;
using I32Tag = hn::RebindToSigned<F32::Tag>;

HWY_INLINE F32 F32::load(const Bfloat16* from) {
  const auto bits = hn::PromoteTo(U32Tag(), hn::LoadU(U16Tag(), reinterpret_cast<const uint16_t*>(from)));
  return hn::BitCast(F32::Tag(), hn::ShiftLeft<16>(bits));
}

HWY_INLINE void store(F32 value, Bfloat16* to) {
  const U32Tag u32;
  const auto bits = hn::BitCast(u32, canonical(value).raw);
  const auto lowest_kept = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(lowest_kept, hn::Set(u32, 0x7FFF))));
  hn::StoreU(hn::DemoteTo(U16Tag(), hn::BitCast(I32Tag(), rounded)), U16Tag(),
             reinterpret_cast<uint16_t*>(to));
}

// ---- float16: hardware conversions, which round to nearest even and keep subnormals; otherwise scalar code
// ----

HWY_INLINE F32 F32::load(const Float16* from) {
#if HWY_TARGET == HWY_SCALAR
  return F32(widen(*from));
#else
  const hn::Rebind<hwy::float16_t, F32::Tag> f16;
  return hn::PromoteTo(F32::Tag(), hn::LoadU(f16, reinterpret_cast<const hwy::float16_t*>(from)));
#endif
}

HWY_INLINE void store(F32 value, Float16* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = narrow_f16(hn::GetLane(value.raw));
#else
  const hn::Rebind<hwy::float16_t, F32::Tag> f16;
  hn::StoreU(hn::DemoteTo(f16, canonical(value).raw), f16, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

// ---- the last elements of a row: count <= V::kLanes, through a buffer of V::kLanes elements ----

// Masked loads and stores, if available for this element size, fill and empty the buffer much faster than
// memcpy of a variable size. They access nothing beyond.
template <class Storage>
inline constexpr bool kHasMasks = HWY_TARGET != HWY_SCALAR &&
                                  (HWY_TARGET <= HWY_AVX3 ||
                                   (HWY_TARGET == HWY_AVX2 && sizeof(Storage) == 4));

template <class Storage, int64_t kElements>
using WordsTag = hn::CappedTag<std::conditional_t<sizeof(Storage) == 4, uint32_t, uint16_t>,
                               static_cast<size_t>(kElements)>;

// Sets the buffer to the first `count` elements, followed by +0.
template <int64_t kElements, class Storage>
HWY_INLINE void copy_in(const Storage* from, int64_t count, Storage (&buffer)[kElements]) {
  if constexpr (kHasMasks<Storage>) {
    const WordsTag<Storage, kElements> tag;
    using Word = hn::TFromD<WordsTag<Storage, kElements>>;
    for (int64_t i = 0; i < kElements; i += static_cast<int64_t>(hn::MaxLanes(tag))) {
      const auto mask = hn::FirstN(tag, static_cast<size_t>(count > i ? count - i : 0));
      hn::StoreU(hn::MaskedLoad(mask, tag, reinterpret_cast<const Word*>(from) + i), tag,
                 reinterpret_cast<Word*>(buffer) + i);
    }
  } else {
    std::memset(static_cast<void*>(buffer), 0, sizeof buffer);
    std::memcpy(static_cast<void*>(buffer), from, static_cast<size_t>(count) * sizeof(Storage));
  }
}

// Writes the first `count` elements of the buffer to memory.
template <int64_t kElements, class Storage>
HWY_INLINE void copy_out(const Storage (&buffer)[kElements], Storage* to, int64_t count) {
  if constexpr (kHasMasks<Storage>) {
    const WordsTag<Storage, kElements> tag;
    using Word = hn::TFromD<WordsTag<Storage, kElements>>;
    for (int64_t i = 0; i < kElements; i += static_cast<int64_t>(hn::MaxLanes(tag))) {
      const auto mask = hn::FirstN(tag, static_cast<size_t>(count > i ? count - i : 0));
      hn::BlendedStore(hn::LoadU(tag, reinterpret_cast<const Word*>(buffer) + i), mask, tag,
                       reinterpret_cast<Word*>(to) + i);
    }
  } else {
    std::memcpy(static_cast<void*>(to), buffer, static_cast<size_t>(count) * sizeof(Storage));
  }
}

template <class V = F32, class Storage>
HWY_INLINE V load_first(const Storage* from, int64_t count) {
  Storage buffer[V::kLanes];
  copy_in(from, count, buffer);
  return load<V>(buffer);
}

template <class V, class Storage>
HWY_INLINE void store_first(const V& value, Storage* to, int64_t count) {
  Storage buffer[V::kLanes];
  store(value, buffer);
  copy_out(buffer, to, count);
}

// ---- prefetches into L2, from where the hardware brings the lines of linear reads to L1 in time ----

inline constexpr int64_t kLineBytes = 64;

// Prefetches the line of an address, or every `step` bytes of V::kLanes elements from there on.
template <class V = F32, class Storage>
HWY_INLINE void fetch(const Storage* from, int64_t step = kLineBytes) {
  constexpr int kIntoL2 = 2;
  const auto* const bytes = reinterpret_cast<const char*>(from);
#pragma GCC unroll 16
  for (int64_t i = 0; i < V::kLanes * static_cast<int64_t>(sizeof(Storage)); i += step)
    __builtin_prefetch(bytes + i, 0, kIntoL2);
}

// Prefetches the lines of V::kLanes elements into L1.
template <class V = F32, class Storage>
HWY_INLINE void fetch_near(const Storage* from) {
  const auto* const bytes = reinterpret_cast<const char*>(from);
#pragma GCC unroll 16
  for (int64_t i = 0; i < V::kLanes * static_cast<int64_t>(sizeof(Storage)); i += kLineBytes)
    hwy::Prefetch(bytes + i);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
