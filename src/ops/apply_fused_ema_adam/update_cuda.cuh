// The update on a GPU, for the kernels of ApplyFusedEmaAdam and ApplyFusedEmaAdamList. Coefficients are
// computed once per block, then elements are processed in registers.
#pragma once

#include "cuda/kernel.cuh"
#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/plan.h"

namespace openaclnn::cuda {

// Neighbouring elements of one set of tensors.
template <int kCount>
struct EmaAdamElements {
  float grad[kCount], var[kCount], m[kCount], v[kCount], s[kCount];

  __device__ __forceinline__ void update(const EmaAdamCoefficients& c) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float direction = adam_direction(c, adam_moments(c, grad[k], var[k], m[k], v[k]));
      ema_step(c, direction, var[k], s[k]);
    }
  }
};

// Data that the first thread of each block computes for all threads. The step is in device memory and read
// when the kernel runs.
struct EmaAdamStep {
  EmaAdamCoefficients coefficients;
  bool is_fault;

  __device__ void prepare(const EmaAdamAttributes& attributes, const int64_t* step, bool strict,
                          Fault* fault) {
    const int64_t t = attributes.bias_correction ? *step : 1;
    is_fault = strict && t < 1;
    coefficients = ema_adam_coefficients(attributes, t);
    if (!is_fault || blockIdx.x != 0) return;
    fault->total = fault->limit = 1;
    fault->value = t;
    fault->count = 1;
  }
};

}  // namespace openaclnn::cuda
