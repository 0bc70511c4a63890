// The vector conversions of cpu/simd.h as plain functions, one set per instruction set, for the conversion test.
#pragma once

#include <cstdint>

#include "base/float16.h"

#define OPENACLNN_VECTOR_CONVERSIONS(isa)                         \
  namespace openaclnn::isa {                                      \
  void narrow(const float* from, Float16* to, int64_t count);     \
  void narrow(const float* from, Bfloat16* to, int64_t count);    \
  void narrow(const float* from, float* to, int64_t count);       \
  void widen_all(const Float16* from, float* to, int64_t count);  \
  void widen_all(const Bfloat16* from, float* to, int64_t count); \
  }

OPENACLNN_VECTOR_CONVERSIONS(isa_baseline)
#if defined(__x86_64__)
OPENACLNN_VECTOR_CONVERSIONS(isa_avx2)
OPENACLNN_VECTOR_CONVERSIONS(isa_avx512)
#endif
