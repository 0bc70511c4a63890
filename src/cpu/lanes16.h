// Sixteen floats on every instruction set: for sums whose order of additions is part of a result's bits and must therefore
// not depend on the width of a vector.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/pairs.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

struct Lanes16 {
  static constexpr int64_t kLanes = 16;
  static constexpr int64_t kParts = kLanes / F32::kLanes;
  F32 part[kParts];
};

HWY_INLINE Lanes16 operator+(const Lanes16& a, const Lanes16& b) {
  Lanes16 sum;
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) sum.part[p] = a.part[p] + b.part[p];
  return sum;
}
HWY_INLINE Lanes16 operator*(const Lanes16& a, const Lanes16& b) {
  Lanes16 product;
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) product.part[p] = a.part[p] * b.part[p];
  return product;
}
HWY_INLINE Lanes16 operator*(F32 a, const Lanes16& b) {
  Lanes16 product;
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) product.part[p] = a * b.part[p];
  return product;
}

template <class Storage>
HWY_INLINE Lanes16 load16(const Storage* from) {
  Lanes16 value;
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) value.part[p] = load(from + p * F32::kLanes);
  return value;
}
template <class Storage>
HWY_INLINE void store16(const Lanes16& value, Storage* to) {
#pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p) store(value.part[p], to + p * F32::kLanes);
}

// Past the caches; `to` is aligned to the 16 elements.
template <class Storage>
HWY_INLINE void stream16(const Lanes16& value, Storage* to) {
#if HWY_TARGET == HWY_SCALAR
  store16(value, to);
#else
  if constexpr (std::is_same_v<Storage, float>) {
  #pragma GCC unroll 16
  for (int64_t p = 0; p < Lanes16::kParts; ++p)
      hn::Stream(canonical(value.part[p]).raw, F32::Tag(), to + p * F32::kLanes);
  } else {
    alignas(32) Storage narrowed[Lanes16::kLanes];
    store16(value, narrowed);
    const U16Tag u16;  // as many lanes as each store above had, which is how the loads get them at once
    for (int64_t k = 0; k < Lanes16::kLanes; k += F32::kLanes)
      hn::Stream(hn::LoadU(u16, reinterpret_cast<const uint16_t*>(narrowed + k)), u16,
                 reinterpret_cast<uint16_t*>(to + k));
  }
#endif
}

// The first `count` < 16 lanes; the others are +0.
template <class Storage>
HWY_INLINE Lanes16 load16_first(const Storage* from, int64_t count) {
  Storage buffer[Lanes16::kLanes] = {};
  std::memcpy(buffer, from, static_cast<size_t>(count) * sizeof(Storage));
  return load16(buffer);
}
template <class Storage>
HWY_INLINE void store16_first(const Lanes16& value, Storage* to, int64_t count) {
  Storage buffer[Lanes16::kLanes];
  store16(value, buffer);
  std::memcpy(to, buffer, static_cast<size_t>(count) * sizeof(Storage));
}

#if HWY_TARGET != HWY_SCALAR
// The lanes of a vector: halves added until four lanes are left, those plus 2, plus 1.
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

// The sum of all lanes in one order: lane l plus lane l + 8, then plus 4, plus 2, plus 1.
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

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
