// Updates a contiguous run, for the kernels of ApplyFusedEmaAdam and ApplyFusedEmaAdamList.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/fault.h"
#include "cpu/pairs.h"
#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The fault of an update count below 1, in strict mode.
inline Fault step_fault(int64_t step) {
  Fault fault;
  fault.count = fault.total = fault.limit = 1;
  fault.value = step;
  return fault;
}

// The formula as a pipeline of three parts. One loop runs them for elements that are kPartDistance apart. A
// square root or division takes longer than everything else that one part computes. In a single part, the
// processor's queues fill with operations that wait for it. In loops of their own, the parts without roots
// and divisions leave the divider idle. With AVX-512 in L2, one loop takes 18 instead of 22 cycles for 16
// elements of FLOAT, 26 instead of 29 of FLOAT16, and 25 instead of 30 of BF16 (Zen 4).
inline constexpr int64_t kPartDistance = 64;
// Elements of the buffers between parts: more than two distances, and a power of two.
inline constexpr int64_t kPartBuffer = 4 * kPartDistance;
static_assert(kPartDistance % F32x2::kLanes == 0);

// Replaces NaNs in memory by the canonical one.
template <class T>
HWY_NOINLINE void make_canonical(T* elements) {
  store(load<F32x2>(elements), elements);
}

template <class T>
struct EmaAdamRun {
  const EmaAdamCoefficients c;
  T *const grad, *const var, *const m, *const v, *const s;

  template <class Load, class Store>
  HWY_INLINE void moments(int64_t i, F32x2& numerator, F32x2& root, const Load& load_from,
                          const Store& store_to) const {
    const F32x2 g = load_from(grad + i);
    const F32x2 w = c.decoupled ? F32x2() : load_from(var + i);  // unused if decoupled is true
    F32x2 new_m = load_from(m + i), new_v = load_from(v + i);
    const AdamTerms<F32> a = adam_moments(c, g.a, w.a, new_m.a, new_v.a);
    const AdamTerms<F32> b = adam_moments(c, g.b, w.b, new_m.b, new_v.b);
    store_to(new_m, m + i);
    store_to(new_v, v + i);
    numerator = {a.numerator, b.numerator};
    root = {a.root, b.root};
  }

  HWY_INLINE F32x2 direction(const F32x2& numerator, const F32x2& root) const {
    return {adam_direction<F32>(c, {numerator.a, root.a}), adam_direction<F32>(c, {numerator.b, root.b})};
  }

  // Returns the new average.
  template <class Load, class Store>
  HWY_INLINE F32x2 step(int64_t i, const F32x2& direction, const Load& load_from,
                        const Store& store_to) const {
    F32x2 new_var = load_from(var + i), new_s = load_from(s + i);
    ema_step(c, direction.a, new_var.a, new_s.a);
    ema_step(c, direction.b, new_var.b, new_s.b);
    store_to(new_var, var + i);
    store_to(new_s, s + i);
    return new_s;
  }

  // Whole pairs of vectors.
  HWY_INLINE void update_pairs(int64_t count) const {
    const auto load_all = [](const T* from) { return load<F32x2>(from); };
    const auto store_all = [](const F32x2& value, T* to) { store_numbers(value, to); };
    alignas(64) float numerators[kPartBuffer], roots[kPartBuffer];
    float* const directions = numerators;  // in the place of the numerators, which are no longer needed
    const auto place = [](int64_t i) { return i & (kPartBuffer - 1); };

    const auto first_part = [&](int64_t i) {
      F32x2 numerator, root;
      moments(i, numerator, root, load_all, store_all);
      store_numbers(numerator, numerators + place(i));
      store_numbers(root, roots + place(i));
    };
    const auto second_part = [&](int64_t i) {
      const F32x2 numerator = load<F32x2>(numerators + place(i)), root = load<F32x2>(roots + place(i));
      store_numbers(direction(numerator, root), directions + place(i));
    };
    const auto third_part = [&](int64_t i) {
      const F32x2 average = step(i, load<F32x2>(directions + place(i)), load_all, store_all);
      // NaN is rare, and a NaN in any result makes the average NaN.
      if (HWY_UNLIKELY(has_nan(average))) {
        make_canonical(m + i);
        make_canonical(v + i);
        make_canonical(var + i);
        make_canonical(s + i);
      }
    };

    constexpr int64_t kStep = F32x2::kLanes;
    int64_t i = 0, divided = 0;
    for (; i < std::min(count, 2 * kPartDistance); i += kStep) first_part(i);
    for (; divided < std::min(count, kPartDistance); divided += kStep) second_part(divided);
    for (i = 0; i + 2 * kPartDistance < count; i += kStep) {
      third_part(i);
      second_part(i + kPartDistance);
      first_part(i + 2 * kPartDistance);
    }
    for (divided += i; divided < count; divided += kStep) second_part(divided);
    for (; i < count; i += kStep) third_part(i);
  }

  // Fewer elements than a pair of vectors.
  HWY_INLINE void update_last(int64_t i, int64_t count) const {
    const auto load_some = [count](const T* from) { return load_first<F32x2>(from, count); };
    const auto store_some = [count](const F32x2& value, T* to) { store_first(value, to, count); };
    F32x2 numerator, root;
    moments(i, numerator, root, load_some, store_some);
    step(i, direction(numerator, root), load_some, store_some);
  }
};

// A coefficient that is NaN may have any payload. The canonical one survives rounding to BF16.
HWY_INLINE EmaAdamCoefficients with_canonical_nan(EmaAdamCoefficients c) {
  for (float* const x : {&c.beta1, &c.one_minus_beta1, &c.beta2, &c.one_minus_beta2, &c.lr, &c.eps,
                         &c.weight_decay, &c.ema_decay, &c.one_minus_ema, &c.m_scale, &c.v_scale}) {
    if (*x != *x) *x = std::bit_cast<float>(kCanonicalNanF32);
  }
  return c;
}

// Updates one contiguous run. grad may equal one of the other tensors: each of its elements is read before
// any is written.
template <class T>
void update_run(const EmaAdamCoefficients& coefficients, const std::array<T*, kEmaStep>& tensors,
                int64_t count) {
  const EmaAdamRun<T> run = {with_canonical_nan(coefficients),
                             tensors[kEmaGrad],
                             tensors[kEmaVar],
                             tensors[kEmaM],
                             tensors[kEmaV],
                             tensors[kEmaS]};
  const int64_t whole = count / F32x2::kLanes * F32x2::kLanes;
  run.update_pairs(whole);
  if (whole < count) run.update_last(whole, count - whole);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
