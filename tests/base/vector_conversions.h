// The vector conversions of cpu/simd.h, pairs.h and lanes16.h, the fused multiply-add and sums of lanes, as
// plain functions, one set per instruction set, for their tests.
#pragma once

#include <cstdint>

#include "base/float16.h"

namespace openaclnn {

// Ways to round floats to a storage type; all must agree. Streaming stores need a target aligned to 64
// bytes.
enum class Narrowing { vectors, pairs, streamed_pairs, lanes16, two_lanes16, streamed_lanes16 };
inline constexpr Narrowing kNarrowings[] = {Narrowing::vectors,        Narrowing::pairs,
                                            Narrowing::streamed_pairs, Narrowing::lanes16,
                                            Narrowing::two_lanes16,    Narrowing::streamed_lanes16};

}  // namespace openaclnn

// sum_lanes: the sums of `count` times 16 floats. Together: count is rounded up to a multiple of 16.
// of_bfloat16: the same with lanes in the order in which bfloat16 is loaded.
#define OPENACLNN_VECTOR_CONVERSIONS(isa)                                                           \
  namespace openaclnn::isa {                                                                        \
  void narrow(Narrowing way, const float* from, Float16* to, int64_t count);                        \
  void narrow(Narrowing way, const float* from, Bfloat16* to, int64_t count);                       \
  void narrow(Narrowing way, const float* from, float* to, int64_t count);                          \
  void widen_all(const Float16* from, float* to, int64_t count);                                    \
  void widen_all(const Bfloat16* from, float* to, int64_t count);                                   \
  void widen_pairs(const Float16* from, float* to, int64_t count);                                  \
  void widen_pairs(const Bfloat16* from, float* to, int64_t count);                                 \
  void widen_lanes(const Float16* from, float* to, int64_t count);                                  \
  void widen_lanes(const Bfloat16* from, float* to, int64_t count);                                 \
  void multiply_add_all(const float* a, const float* b, const float* c, float* out, int64_t count); \
  void sum_lanes(const float* lanes, int64_t count, float* sums);                                   \
  void sum_lanes_together(const float* lanes, int64_t count, float* sums);                          \
  void sum_lanes_of_bfloat16(const float* lanes, int64_t count, float* sums);                       \
  }

OPENACLNN_VECTOR_CONVERSIONS(isa_baseline)
#if defined(__x86_64__)
OPENACLNN_VECTOR_CONVERSIONS(isa_avx2)
OPENACLNN_VECTOR_CONVERSIONS(isa_avx512)
#endif
