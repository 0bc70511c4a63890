// The 16-bit storage types: exact widening to fp32, and round-to-nearest-even narrowing with one canonical NaN.
//
// These scalar functions define the bits. Vector code must agree with them for every input. The conversion
// test compares all 2^16 widenings, and narrowings around every rounding boundary, at each instruction set
// level.
#pragma once

#include <bit>
#include <cstdint>

#include "base/inline.h"

#if __FINITE_MATH_ONLY__ || defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || \
    defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "openaclnn computes specified bits: remove -ffast-math and the flags that it stands for"
#endif

namespace openaclnn {

struct Float16 {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

inline constexpr uint32_t kCanonicalNanF32 = 0x7FC00000u;
inline constexpr uint16_t kCanonicalNanF16 = 0x7E00u;
inline constexpr uint16_t kCanonicalNanBf16 = 0x7FC0u;

OPENACLNN_INLINE constexpr float widen(Bfloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

OPENACLNN_INLINE constexpr float widen(Float16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
  if (magnitude < 0x400u) {  // zero or subnormal: magnitude * 2^-24, exact
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

// For code that takes any storage type.
OPENACLNN_INLINE constexpr float to_float(float x) { return x; }
OPENACLNN_INLINE constexpr float to_float(Bfloat16 x) { return widen(x); }
OPENACLNN_INLINE constexpr float to_float(Float16 x) { return widen(x); }

OPENACLNN_INLINE constexpr Bfloat16 narrow_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {kCanonicalNanBf16};
  // Adding 0x7FFF plus the lowest kept bit rounds half to even. A carry out of the mantissa correctly
  // increments the exponent, up to infinity.
  const uint32_t parity = (bits >> 16) & 1u;
  return {static_cast<uint16_t>((bits + 0x7FFFu + parity) >> 16)};
}

OPENACLNN_INLINE constexpr Float16 narrow_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return {kCanonicalNanF16};
  if (magnitude >= 0x477FF000u)
    return {static_cast<uint16_t>(sign | 0x7C00u)};  // 65,520 and above round to infinity
  if (magnitude < 0x38800000u) {                     // below 2^-14: the result is a multiple of 2^-24
    // Uses integers, so that the caller's rounding mode has no effect. 126 - exponent is the distance from
    // the last place of the fp32 significand to 2^-24. Beyond 24 even the leading bit is below half of 2^-24.
    const uint32_t shift = 126u - (magnitude >> 23);
    if (shift > 24u) return {sign};
    const uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    const uint32_t half_less_one = (1u << (shift - 1u)) - 1u;
    return {static_cast<uint16_t>(sign |
                                  ((significand + half_less_one + ((significand >> shift) & 1u)) >> shift))};
  }
  const uint32_t rebased = magnitude - ((127u - 15u) << 23);
  return {static_cast<uint16_t>(sign | ((rebased + 0xFFFu + ((rebased >> 13) & 1u)) >> 13))};
}

}  // namespace openaclnn
