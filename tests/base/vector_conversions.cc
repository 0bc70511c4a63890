// Conversions of whole vectors and a remainder, as in kernels; compiled once per instruction set.
#include "vector_conversions.h"

#include <vector>

#include "cpu/lanes16.h"
#include "cpu/pairs.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// Returns floats in the order in which a pair is loaded from an Out.
template <class Out>
F32x2 pair_of(const float* from) {
  if constexpr (!kIsInterleaved<Out>) return load<F32x2>(from);
  float even[F32::kLanes], odd[F32::kLanes];
  for (int64_t k = 0; k < F32::kLanes; ++k) {
    even[k] = from[2 * k];
    odd[k] = from[2 * k + 1];
  }
  return {load(even), load(odd)};
}

// Returns floats in the order in which lanes are loaded from an Out.
template <class Out>
Lanes16 lanes16_of(const float* from) {
  if constexpr (!kLanes16ArePairs<Out>) return load<Lanes16>(from);
  Lanes16 lanes;
  for (int64_t p = 0; p < Lanes16::kParts; p += 2) {
    const F32x2 pair = pair_of<Out>(from + p * F32::kLanes);
    lanes.part[p] = pair.a;
    lanes.part[p + 1] = pair.b;
  }
  return lanes;
}

// Returns the number of elements that were written: all whole steps.
template <bool kStreams, class Out>
int64_t write_lanes16(const float* from, Out* to, int64_t count) {
  constexpr int64_t kStep = kLanes16Together * Lanes16::kLanes;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Lanes16 values[kLanes16Together];
    for (int64_t k = 0; k < kLanes16Together; ++k)
      values[k] = lanes16_of<Out>(from + i + k * Lanes16::kLanes);
    AnyNan nan;
    write_together<kStreams>(values, to + i, nan);
    if (!nan) continue;
    for (int64_t k = 0; k < kLanes16Together; ++k) store(values[k], to + i + k * Lanes16::kLanes);
  }
  return i;
}

template <class Out>
void narrow_by(Narrowing way, const float* from, Out* to, int64_t count) {
  int64_t i = 0;
  switch (way) {
    case Narrowing::vectors:
      for (; i + F32::kLanes <= count; i += F32::kLanes) store(load(from + i), to + i);
      break;
    case Narrowing::pairs:
      for (; i + F32x2::kLanes <= count; i += F32x2::kLanes) store(pair_of<Out>(from + i), to + i);
      if (const int64_t left = count - i; left > 0) {
        float rest[F32x2::kLanes] = {};
        std::memcpy(rest, from + i, static_cast<size_t>(left) * sizeof(float));
        store_first(pair_of<Out>(rest), to + i, left);
      }
      return;
    case Narrowing::streamed_pairs:
      for (; i + F32x2::kLanes <= count; i += F32x2::kLanes) stream(pair_of<Out>(from + i), to + i);
      break;
    case Narrowing::lanes16:
      for (; i + Lanes16::kLanes <= count; i += Lanes16::kLanes) store(lanes16_of<Out>(from + i), to + i);
      break;
    case Narrowing::two_lanes16: i = write_lanes16<false>(from, to, count); break;
    case Narrowing::streamed_lanes16: i = write_lanes16<true>(from, to, count); break;
  }
  for (; i + F32::kLanes <= count; i += F32::kLanes) store(load(from + i), to + i);
  if (i < count) store_first(load_first(from + i, count - i), to + i, count - i);
  hwy::FlushStream();
}

// Without the canonical NaN of store(): widening is exact, payloads included.
template <class In>
void widen_exactly(const In* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + F32::kLanes <= count; i += F32::kLanes) hn::StoreU(load(from + i).raw, F32::Tag(), to + i);
}

// Pairs are brought into the order of the elements, which does not change the rounding to float.
template <class In>
void widen_in_order(const In* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + F32x2::kLanes <= count; i += F32x2::kLanes) store_in_order<In>(load<F32x2>(from + i), to + i);
}

// Through lanes, which are brought into the order of the elements.
template <class In>
void widen_lanes16(const In* from, float* to, int64_t count) {
  for (int64_t i = 0; i + Lanes16::kLanes <= count; i += Lanes16::kLanes) {
    const Lanes16 lanes = load<Lanes16>(from + i);
    for (int64_t p = 0; p < Lanes16::kParts; ++p) {
      float part[F32::kLanes];
      hn::StoreU(lanes.part[p].raw, F32::Tag(), part);
      for (int64_t k = 0; k < F32::kLanes; ++k) {
        const int64_t at =
            kLanes16ArePairs<In> ? (p - p % 2) * F32::kLanes + 2 * k + p % 2 : p * F32::kLanes + k;
        to[i + at] = part[k];
      }
    }
  }
}

template <class T>
void sum_together(const float* lanes, int64_t count, float* sums) {
  std::vector<float> folded(static_cast<size_t>((count + 15) / 16 * 16 * F32::kLanes));
  for (int64_t k = 0; k < count; ++k) {
    const F32 value = fold<T>(lanes16_of<T>(lanes + k * Lanes16::kLanes));
    hn::StoreU(value.raw, F32::Tag(), folded.data() + k * F32::kLanes);
  }
  sums_of_folded(folded.data(), count, sums);
}

}  // namespace

void multiply_add_all(const float* a, const float* b, const float* c, float* out, int64_t count) {
  for (int64_t i = 0; i + F32::kLanes <= count; i += F32::kLanes)
    store(multiply_add(load(a + i), load(b + i), load(c + i)), out + i);
}

void sum_lanes(const float* lanes, int64_t count, float* sums) {
  for (int64_t k = 0; k < count; ++k)
    sums[k] = sum_of_lanes<float>(load<Lanes16>(lanes + k * Lanes16::kLanes));
}
void sum_lanes_together(const float* lanes, int64_t count, float* sums) {
  sum_together<float>(lanes, count, sums);
}
void sum_lanes_of_bfloat16(const float* lanes, int64_t count, float* sums) {
  sum_together<Bfloat16>(lanes, count, sums);
}

void narrow(Narrowing way, const float* from, Float16* to, int64_t count) { narrow_by(way, from, to, count); }
void narrow(Narrowing way, const float* from, Bfloat16* to, int64_t count) {
  narrow_by(way, from, to, count);
}
void narrow(Narrowing way, const float* from, float* to, int64_t count) { narrow_by(way, from, to, count); }
void widen_all(const Float16* from, float* to, int64_t count) { widen_exactly(from, to, count); }
void widen_all(const Bfloat16* from, float* to, int64_t count) { widen_exactly(from, to, count); }
void widen_pairs(const Float16* from, float* to, int64_t count) { widen_in_order(from, to, count); }
void widen_pairs(const Bfloat16* from, float* to, int64_t count) { widen_in_order(from, to, count); }
void widen_lanes(const Float16* from, float* to, int64_t count) { widen_lanes16(from, to, count); }
void widen_lanes(const Bfloat16* from, float* to, int64_t count) { widen_lanes16(from, to, count); }

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
