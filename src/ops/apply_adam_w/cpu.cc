// ApplyAdamW on the CPU: reads four or five tensors and writes three or four in one pass; loops.h handles any
// strides.
#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "cpu/loops.h"
#include "cpu/pairs.h"
#include "ops/apply_adam_w/coefficients.h"
#include "ops/apply_adam_w/math.h"
#include "ops/apply_adam_w/plan.h"
#include "ops/apply_adam_w/types.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// Data that all elements of a task share.
struct Update {
  AdamWCoefficients coefficients;
  bool amsgrad;
  bool keeps_maximum_in_v;
};

// The tensors of a contiguous run. S: parameter and moments, G: gradient, M: maximum, which is not accessed
// without amsgrad.
template <class S, class G, class M>
struct AdamWRun {
  S *var, *m, *v;
  G* grad;
  M* maximum;
};

// Pairs of vectors with the same elements in all tensors. The order is the fastest one for the types, or the
// memory order if BF16 is mixed with another type.
template <bool kInOrder, class T>
HWY_INLINE F32x2 load_pair(const T* from) {
  if constexpr (kInOrder) return {load(from), load(from + F32::kLanes)};
  return load<F32x2>(from);
}
template <bool kInOrder, class T>
HWY_INLINE void store_pair(const F32x2& value, T* to) {
  if constexpr (kInOrder) return store_in_order<float>(value, to);
  store_numbers(value, to);
}

template <class S, class G, class M>
HWY_INLINE void update_pair(const Update& update, const AdamWRun<S, G, M>& run, int64_t i) {
  constexpr bool kInOrder = !kHaveSameOrder<S, G> || !kHaveSameOrder<S, M>;
  const AdamWCoefficients& c = update.coefficients;
  const F32x2 grad = load_pair<kInOrder>(run.grad + i);
  F32x2 m = load_pair<kInOrder>(run.m + i), v = load_pair<kInOrder>(run.v + i);
  adam_w_moments(c, grad.a, m.a, v.a);
  adam_w_moments(c, grad.b, m.b, v.b);
  F32x2 largest = v;
  if (update.amsgrad) {
    const F32x2 before = load_pair<kInOrder>(run.maximum + i);
    largest = {maximum(before.a, v.a), maximum(before.b, v.b)};
    if (update.keeps_maximum_in_v) v = largest;
  }
  F32x2 var = load_pair<kInOrder>(run.var + i);
  adam_w_step(c, m.a, largest.a, var.a);
  adam_w_step(c, m.b, largest.b, var.b);
  // NaN is rare, and a NaN in any result makes var NaN.
  if (HWY_UNLIKELY(has_nan(var))) {
    for (F32x2* const result : {&m, &v, &largest, &var}) *result = canonical(*result);
  }
  store_pair<kInOrder>(m, run.m + i);
  store_pair<kInOrder>(v, run.v + i);
  store_pair<kInOrder>(var, run.var + i);
  if (update.amsgrad && !update.keeps_maximum_in_v) store_pair<kInOrder>(largest, run.maximum + i);
}

// The last elements, followed by +0, in memory of whole vectors.
template <class T>
struct Padded {
  Padded(const T* from, int64_t count) { copy_in(from, count, elements); }
  T elements[F32x2::kLanes];
};

template <class S, class G, class M>
void update_tail(const Update& update, const AdamWRun<S, G, M>& run, int64_t count) {
  Padded<S> var(run.var, count), m(run.m, count), v(run.v, count);
  Padded<G> grad(run.grad, count);
  Padded<M> maximum(run.maximum, update.amsgrad ? count : 0);
  update_pair<S, G, M>(update, {var.elements, m.elements, v.elements, grad.elements, maximum.elements}, 0);
  copy_out(var.elements, run.var, count);
  copy_out(m.elements, run.m, count);
  copy_out(v.elements, run.v, count);
  if (update.amsgrad && !update.keeps_maximum_in_v) copy_out(maximum.elements, run.maximum, count);
}

template <class S, class G, class M>
void update_run(const Update& update, const AdamWRun<S, G, M>& run, int64_t count) {
  int64_t i = 0;
  for (; i + F32x2::kLanes <= count; i += F32x2::kLanes) update_pair(update, run, i);
  if (i < count) {
    update_tail<S, G, M>(update, {run.var + i, run.m + i, run.v + i, run.grad + i, run.maximum + i},
                         count - i);
  }
}

template <class S, class G, class M>
void update_all(const AdamWPlan& plan, const TaskIo& io, const Update& update) {
  const auto first = [&](AdamWOperand k, auto type) { return plan_tensor<decltype(type)>(plan, io, k); };
  const int64_t chunks = cpu::chunks_for(plan.numel * plan.bytes_per_element);
  const bool writes_maximum = update.amsgrad && !update.keeps_maximum_in_v;
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(plan.numel, chunks, chunk, 1024);
    for_each_run_of(
        plan.nest, {true, true, true, false, writes_maximum}, range,
        [&](int64_t count, S* var, S* m, S* v, G* grad, M* maximum) {
          update_run<S, G, M>(update, {var, m, v, grad, maximum}, count);
        },
        first(kAdamWVar, S()), first(kAdamWM, S()), first(kAdamWV, S()), first(kAdamWGrad, G()),
        first(kAdamWMaximum, M()));
  });
}

}  // namespace

Fault run_apply_adam_w(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const AdamWPlan*>(opaque_plan);
  Update update = {{}, plan.amsgrad, plan.version == AdamWVersion::first};
  const AdamWNumberAddresses addresses = number_addresses(plan, io.data);
  if (plan.version == AdamWVersion::first) {
    with_float_type(plan.dtypes[kAdamWVar], [&](auto type) {
      update.coefficients = coefficients_of_tensors<decltype(type)>(plan, addresses);
    });
  } else {
    const AdamWStep step = read_step(plan, addresses.step);
    if (is_faulty(step) && io.check == CheckMode::strict) {
      Fault fault;
      show_step(plan, step, fault);
      fault.count = 1;
      return fault;
    }
    update.coefficients = coefficients_of_step(plan, step);
  }
  with_types(plan, [&](auto state, auto grad, auto maximum) {
    update_all<decltype(state), decltype(grad), decltype(maximum)>(plan, io, update);
  });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
