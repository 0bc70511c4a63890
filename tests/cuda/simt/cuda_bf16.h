// Replaces CUDA's header of this name: the conversions of BFLOAT16 that kernels call, with the bits of
// base/float16.h.
#pragma once

#include <cstdint>

#include "base/float16.h"

struct __nv_bfloat16 {
  uint16_t bits;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {openaclnn::narrow_bf16(x).bits}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {__float2bfloat16_rn(a), __float2bfloat16_rn(b)};
}
