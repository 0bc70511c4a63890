// Updates a contiguous run, for the kernels of ApplyFusedEmaAdam and ApplyFusedEmaAdamList.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/pairs.h"
#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// NaN is rare. The caller tests one result that every NaN reaches instead of testing all results.
HWY_INLINE void make_canonical(bool any_nan, F32x2& x, F32x2& y) {
  if (HWY_UNLIKELY(any_nan)) {
    x = canonical(x);
    y = canonical(y);
  }
}

// Updates up to kUpdateBlock contiguous elements in two passes. Square roots and divisions are slow: with the
// whole formula in one loop, the processor's queues fill with operations that wait for them.
inline constexpr int64_t kUpdateBlock = 512;

template <class T>
struct EmaAdamBlock {
  const EmaAdamCoefficients c;
  T *const grad, *const var, *const m, *const v, *const s;

  template <class Load, class Store>
  HWY_INLINE F32x2 direction(int64_t i, const Load& load_from, const Store& store_to) const {
    const F32x2 g = load_from(grad + i);
    const F32x2 w = c.decoupled ? F32x2() : load_from(var + i);  // unused if decoupled is false
    F32x2 new_m = load_from(m + i), new_v = load_from(v + i);
    const F32x2 result = {adam_direction(c, g.a, w.a, new_m.a, new_v.a),
                          adam_direction(c, g.b, w.b, new_m.b, new_v.b)};
    make_canonical(has_nan(result), new_m, new_v);  // a NaN in either makes the direction NaN
    store_to(new_m, m + i);
    store_to(new_v, v + i);
    return result;
  }

  template <class Load, class Store>
  HWY_INLINE void step(int64_t i, const F32x2& direction, const Load& load_from,
                       const Store& store_to) const {
    F32x2 new_var = load_from(var + i), new_s = load_from(s + i);
    ema_step(c, direction.a, new_var.a, new_s.a);
    ema_step(c, direction.b, new_var.b, new_s.b);
    make_canonical(has_nan(new_s), new_var, new_s);  // a NaN in var makes s NaN
    store_to(new_var, var + i);
    store_to(new_s, s + i);
  }
};

// Updates one contiguous run. grad may equal one of the other tensors: each of its elements is read before
// any is written.
template <class T>
void update_run(const EmaAdamCoefficients& coefficients, const std::array<T*, kEmaStep>& tensors,
                int64_t count) {
  const EmaAdamBlock<T> x = {coefficients,   tensors[kEmaGrad], tensors[kEmaVar],
                             tensors[kEmaM], tensors[kEmaV],    tensors[kEmaS]};
  const auto load_all = [](const T* from) { return load<F32x2>(from); };
  const auto store_all = [](const F32x2& value, T* to) { store_numbers(value, to); };
  alignas(64) float directions[kUpdateBlock];
  int64_t i = 0;
  while (i + F32x2::kLanes <= count) {
    const int64_t whole = (count - i) / F32x2::kLanes * F32x2::kLanes;
    const int64_t block = whole < kUpdateBlock ? whole : kUpdateBlock;
    for (int64_t k = 0; k < block; k += F32x2::kLanes) {
      store_numbers(x.direction(i + k, load_all, store_all), directions + k);
    }
    for (int64_t k = 0; k < block; k += F32x2::kLanes)
      x.step(i + k, load<F32x2>(directions + k), load_all, store_all);
    i += block;
  }
  if (const int64_t left = count - i; left > 0) {
    const auto load_some = [left](const T* from) { return load_first<F32x2>(from, left); };
    const auto store_some = [left](const F32x2& value, T* to) { store_first(value, to, left); };
    x.step(i, x.direction(i, load_some, store_some), load_some, store_some);
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
