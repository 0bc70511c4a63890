// Compiled once per instruction set: whole vectors and a tail, as kernels do it.
#include "vector_conversions.h"

#include "cpu/simd.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

template <class In, class Out>
void convert(const In* from, Out* to, int64_t count) {
  int64_t i = 0;
  for (; i + F32::kLanes <= count; i += F32::kLanes) store(load(from + i), to + i);
  if (i < count) store_first(load_first(from + i, count - i), to + i, count - i);
}

// Without the canonical NaN of store(): widening is exact, payloads included.
template <class In>
void widen_exactly(const In* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + F32::kLanes <= count; i += F32::kLanes) hn::StoreU(load(from + i).raw, F32::Tag(), to + i);
}

}  // namespace

void narrow(const float* from, Float16* to, int64_t count) { convert(from, to, count); }
void narrow(const float* from, Bfloat16* to, int64_t count) { convert(from, to, count); }
void narrow(const float* from, float* to, int64_t count) { convert(from, to, count); }
void widen_all(const Float16* from, float* to, int64_t count) { widen_exactly(from, to, count); }
void widen_all(const Bfloat16* from, float* to, int64_t count) { widen_exactly(from, to, count); }

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
