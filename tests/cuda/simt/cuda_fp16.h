// Replaces CUDA's header of this name: the conversions of FLOAT16 that kernels call, with the bits of
// base/float16.h.
#pragma once

#include <cstdint>

#include "base/float16.h"

struct __half {
  uint16_t bits;
};
struct __half2 {
  __half x, y;
};

inline __half __ushort_as_half(uint16_t bits) { return {bits}; }
inline uint16_t __half_as_ushort(__half x) { return x.bits; }
inline float __half2float(__half x) { return openaclnn::widen(openaclnn::Float16{x.bits}); }
inline __half __float2half_rn(float x) { return {openaclnn::narrow_f16(x).bits}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__float2half_rn(a), __float2half_rn(b)}; }
