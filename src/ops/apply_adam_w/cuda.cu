// ApplyAdamW on a GPU: a thread processes neighbouring elements of all tensors, 16 bytes of the widest type, and
// then those that are a whole grid further on.
//
// The grid fits the GPU, because a block waits for its coefficients before it loads any element: with more
// blocks there would be more such waits. ApplyFusedEmaAdam loads first, so it has a thread for each piece
// (grid_for_all), which reached 5 % more bandwidth. Nobody has measured this here.
#include "base/plan_tensor.h"
#include "cuda/loops.cuh"
#include "ops/apply_adam_w/coefficients.h"
#include "ops/apply_adam_w/math.h"
#include "ops/apply_adam_w/types.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

// Addresses of the first elements. S: parameter and moments, G: gradient, M: maximum, which is not accessed
// without amsgrad.
template <class S, class G, class M>
struct AdamWTensors {
  S *var, *m, *v;
  G* grad;
  M* maximum;
};

// Data that the first thread of each block computes for all threads. The numbers are in device memory and
// read when the kernel runs.
struct AdamWPrepared {
  AdamWCoefficients coefficients;
  bool is_fault;

  template <class S>
  __device__ void prepare(const AdamWPlan& plan, const AdamWNumberAddresses& addresses, bool strict,
                          Fault* fault) {
    is_fault = false;
    if (plan.version == AdamWVersion::first) {
      coefficients = coefficients_of_tensors<S>(plan, addresses);
      return;
    }
    const AdamWStep step = read_step(plan, addresses.step);
    coefficients = coefficients_of_step(plan, step);
    is_fault = strict && is_faulty(step);
    if (!is_fault || blockIdx.x != 0) return;
    show_step(plan, step, *fault);
    fault->count = 1;
  }
};

// Returns the larger one; b if they are equal, and NaN if either is.
__device__ __forceinline__ float maximum(float a, float b) { return a > b || a != a ? a : b; }

template <int kCount, class S, class G, class M>
__device__ __forceinline__ void update(const AdamWPlan& plan, const AdamWCoefficients& coefficients,
                                       const AdamWTensors<S, G, M>& tensors,
                                       const int64_t (&at)[kAdamWOperands]) {
  float grad[kCount], var[kCount], m[kCount], v[kCount], largest[kCount];
  load_pack(tensors.grad + at[kAdamWGrad], grad);
  load_pack(tensors.var + at[kAdamWVar], var);
  load_pack(tensors.m + at[kAdamWM], m);
  load_pack(tensors.v + at[kAdamWV], v);
  if (plan.amsgrad) load_pack(tensors.maximum + at[kAdamWMaximum], largest);
  const bool keeps_maximum_in_v = plan.version == AdamWVersion::first;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    adam_w_moments(coefficients, grad[k], m[k], v[k]);
    largest[k] = plan.amsgrad ? maximum(largest[k], v[k]) : v[k];
    if (keeps_maximum_in_v) v[k] = largest[k];
    adam_w_step(coefficients, m[k], largest[k], var[k]);
  }
  store_pack(m, tensors.m + at[kAdamWM]);
  store_pack(v, tensors.v + at[kAdamWV]);
  store_pack(var, tensors.var + at[kAdamWVar]);
  if (plan.amsgrad && !keeps_maximum_in_v) store_pack(largest, tensors.maximum + at[kAdamWMaximum]);
}

// Processes elements in packs of kCount. The rest at the end of a single run is processed one by one.
template <int kCount, class S, class G, class M>
__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    update_all(const __grid_constant__ AdamWPlan plan, const __grid_constant__ AdamWTensors<S, G, M> tensors,
               const __grid_constant__ AdamWNumberAddresses addresses, bool strict, Fault* fault) {
  __shared__ AdamWPrepared prepared;
  if (threadIdx.x == 0) prepared.prepare<S>(plan, addresses, strict, fault);
  __syncthreads();
  if (prepared.is_fault) return;
  const AdamWCoefficients coefficients = prepared.coefficients;
  int64_t at[kAdamWOperands];
  const int64_t packs = plan.numel / kCount;
  for (int64_t i = thread_number(); i < packs; i += thread_count()) {
    find_offsets(plan.nest, i * kCount, at);
    update<kCount>(plan, coefficients, tensors, at);
  }
  const int64_t last = packs * kCount + thread_number();
  if (kCount > 1 && last < plan.numel) {
    find_offsets(plan.nest, last, at);
    update<1>(plan, coefficients, tensors, at);
  }
}

template <class S, class G, class M>
cudaError_t launch(const AdamWPlan& plan, const LaunchIo& io) {
  constexpr int kCount = kLanes<S>;  // the gradient is never wider than the parameter
  bool packed = true;
  const auto first = [&](AdamWOperand k, auto type) {
    using T = decltype(type);
    T* const base = plan_tensor<T>(plan, io, k);
    packed = packed && can_pack(plan.nest, k, base, sizeof(T), kCount);
    return base;
  };
  const AdamWTensors<S, G, M> tensors = {first(kAdamWVar, S()), first(kAdamWM, S()), first(kAdamWV, S()),
                                         first(kAdamWGrad, G()), first(kAdamWMaximum, M())};
  const auto kernel = packed ? update_all<kCount, S, G, M> : update_all<1, S, G, M>;
  const int64_t items = packed ? ceil_div(plan.numel, kCount) : plan.numel;
  return launch_kernel(kernel, grid_of(blocks_for(items)), kThreads, 0, io.stream, plan, tensors,
                       number_addresses(plan, io.data), io.check == CheckMode::strict, io.fault);
}

}  // namespace

cudaError_t launch_apply_adam_w(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const AdamWPlan*>(opaque_plan);
  return with_types(plan, [&](auto state, auto grad, auto maximum) {
    return launch<decltype(state), decltype(grad), decltype(maximum)>(plan, io);
  });
}

}  // namespace openaclnn::cuda
