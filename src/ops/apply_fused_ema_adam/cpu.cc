// ApplyFusedEmaAdam on the CPU: reads five tensors and writes four in one pass; loops.h handles any strides.

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "cpu/loops.h"
#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/plan.h"
#include "ops/apply_fused_ema_adam/update_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

template <class T>
void update(const EmaAdamPlan& plan, const TaskIo& io, const EmaAdamCoefficients& coefficients) {
  std::array<T*, kEmaStep> base;
  for (size_t k = 0; k < kEmaStep; ++k) base[k] = plan_tensor<T>(plan, io, k);
  constexpr int64_t kTraffic = 9;  // five loads and four stores per element
  const int64_t chunks = cpu::chunks_for(plan.numel * kTraffic * static_cast<int64_t>(sizeof(T)));
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(plan.numel, chunks, chunk, 1024);
    for_each_run<T, kEmaStep>(plan.nest, base, {false, true, true, true, true}, range,
                              [&](const std::array<T*, kEmaStep>& tensors, int64_t count) {
                                update_run<T>(coefficients, tensors, count);
                              });
  });
}

}  // namespace

Fault run_apply_fused_ema_adam(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const EmaAdamPlan*>(opaque_plan);
  int64_t t = 1;
  if (plan.attributes.bias_correction) {
    t = *plan_tensor<const int64_t>(plan, io, kEmaStep);
    if (t < 1 && io.check == CheckMode::strict) return step_fault(t);
  }
  const EmaAdamCoefficients coefficients = ema_adam_coefficients(plan.attributes, t);
  with_float_type(plan.dtype, [&](auto type) { update<decltype(type)>(plan, io, coefficients); });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
