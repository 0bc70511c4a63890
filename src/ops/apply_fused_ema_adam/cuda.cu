// ApplyFusedEmaAdam on a GPU: a thread processes 16 bytes of all five tensors; a grid that fits the GPU
// covers them in one pass.
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "cuda/loops.cuh"
#include "ops/apply_fused_ema_adam/update_cuda.cuh"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

template <class T>
struct Tensors {
  T* base[kEmaStep];
};

// grad may equal one of the other tensors: a thread reads all inputs of an element before it writes any.
template <int kCount, class T>
__device__ __forceinline__ void update(const EmaAdamCoefficients& coefficients, const Tensors<T>& tensors,
                                       const int64_t (&at)[kEmaStep]) {
  const auto address = [&](int k) { return tensors.base[k] + at[k]; };
  EmaAdamElements<kCount> x;
  load_pack(address(kEmaGrad), x.grad);
  load_pack(address(kEmaVar), x.var);
  load_pack(address(kEmaM), x.m);
  load_pack(address(kEmaV), x.v);
  load_pack(address(kEmaS), x.s);
  x.update(coefficients);
  store_pack(x.var, address(kEmaVar));
  store_pack(x.m, address(kEmaM));
  store_pack(x.v, address(kEmaV));
  store_pack(x.s, address(kEmaS));
}

// Processes elements in packs of kCount. The rest at the end of a single run is processed one by one.
template <int kCount, class T>
__global__ void __launch_bounds__(kThreads)
    update_all(const __grid_constant__ EmaAdamPlan plan, const __grid_constant__ Tensors<T> tensors,
               const int64_t* step, bool strict, Fault* fault) {
  __shared__ EmaAdamStep prepared;
  if (threadIdx.x == 0) prepared.prepare(plan.attributes, step, strict, fault);
  __syncthreads();
  if (prepared.is_fault) return;
  const EmaAdamCoefficients coefficients = prepared.coefficients;
  int64_t at[kEmaStep];
  const int64_t packs = plan.numel / kCount;
  for (int64_t i = thread_number(); i < packs; i += thread_count()) {
    find_offsets(plan.nest, i * kCount, at);
    update<kCount>(coefficients, tensors, at);
  }
  const int64_t last = packs * kCount + thread_number();
  if (kCount > 1 && last < plan.numel) {
    find_offsets(plan.nest, last, at);
    update<1>(coefficients, tensors, at);
  }
}

template <class T>
cudaError_t launch(const EmaAdamPlan& plan, const LaunchIo& io) {
  Tensors<T> tensors;
  bool packed = true;
  for (int k = 0; k < kEmaStep; ++k) {
    tensors.base[k] = plan_tensor<T>(plan, io, static_cast<size_t>(k));
    packed = packed && can_pack(plan.nest, k, tensors.base[k], sizeof(T), kLanes<T>);
  }
  const int64_t* const step =
      plan.attributes.bias_correction ? plan_tensor<const int64_t>(plan, io, kEmaStep) : nullptr;
  const bool strict = io.check == CheckMode::strict;
  const auto kernel = packed ? update_all<kLanes<T>, T> : update_all<1, T>;
  const int64_t items = packed ? ceil_div(plan.numel, kLanes<T>) : plan.numel;
  return launch_kernel(kernel, grid_of(blocks_for(items)), kThreads, 0, io.stream, plan, tensors, step,
                       strict, io.fault);
}

}  // namespace

cudaError_t launch_apply_fused_ema_adam(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmaAdamPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
