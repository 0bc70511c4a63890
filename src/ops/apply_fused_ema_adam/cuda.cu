// ApplyFusedEmaAdam on a GPU: a thread processes 16 bytes of all five tensors.
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

// Neighbouring elements of all tensors, as stored. grad may equal one of the other tensors: a thread reads all
// inputs of an element before it writes any. kOneRun: all tensors are contiguous.
template <bool kOneRun, int kCount, class T>
struct StoredElements {
  Stored<T, kCount> of[kEmaStep];
  int64_t at[kOneRun ? 1 : kEmaStep];

  __device__ __forceinline__ T* address(const Tensors<T>& tensors, int k) const {
    return tensors.base[k] + at[kOneRun ? 0 : k];
  }
  __device__ __forceinline__ void load(const EmaAdamPlan& plan, const Tensors<T>& tensors, int64_t element) {
    if constexpr (kOneRun) {
      at[0] = element;
    } else {
      find_offsets(plan.nest, element, at);
    }
#pragma unroll
    for (int k = 0; k < kEmaStep; ++k) of[k] = load_stored<kCount>(address(tensors, k));
  }
  __device__ __forceinline__ void update(const EmaAdamCoefficients& coefficients,
                                         const Tensors<T>& tensors) const {
    EmaAdamElements<kCount> x;
    widen<T, kCount>(of[kEmaGrad], x.grad);
    widen<T, kCount>(of[kEmaVar], x.var);
    widen<T, kCount>(of[kEmaM], x.m);
    widen<T, kCount>(of[kEmaV], x.v);
    widen<T, kCount>(of[kEmaS], x.s);
    x.update(coefficients);
    store_pack(x.var, address(tensors, kEmaVar));
    store_pack(x.m, address(tensors, kEmaM));
    store_pack(x.v, address(tensors, kEmaV));
    store_pack(x.s, address(tensors, kEmaS));
  }
};

// A thread processes one pack of kCount elements. The rest at the end of a single run is processed one by one.
// The loads of a block wait for memory while its first thread computes the coefficients.
template <bool kOneRun, int kCount, class T>
__global__ void __launch_bounds__(kThreads, kOneRun ? 4 : kBlocksWithRegisters)
    update_all(const __grid_constant__ EmaAdamPlan plan, const __grid_constant__ Tensors<T> tensors,
               const int64_t* step, bool strict, Fault* fault) {
  __shared__ EmaAdamStep prepared;
  const int64_t packs = plan.numel / kCount;
  const int64_t pack = thread_number();
  StoredElements<kOneRun, kCount, T> elements;
  if (pack < packs) elements.load(plan, tensors, pack * kCount);
  if (threadIdx.x == 0) prepared.prepare(plan.attributes, step, strict, fault);
  __syncthreads();
  if (prepared.is_fault) return;
  if (pack < packs) elements.update(prepared.coefficients, tensors);
  const int64_t last = packs * kCount + pack;
  if (kCount > 1 && last < plan.numel) {
    StoredElements<kOneRun, 1, T> single;
    single.load(plan, tensors, last);
    single.update(prepared.coefficients, tensors);
  }
}

template <class T>
cudaError_t launch(const EmaAdamPlan& plan, const LaunchIo& io) {
  constexpr int kCount = kLanes<T>;
  Tensors<T> tensors;
  bool packed = true;
  for (int k = 0; k < kEmaStep; ++k) {
    tensors.base[k] = plan_tensor<T>(plan, io, static_cast<size_t>(k));
    packed = packed && can_pack(plan.nest, k, tensors.base[k], sizeof(T), kCount);
  }
  const int64_t* const step =
      plan.attributes.bias_correction ? plan_tensor<const int64_t>(plan, io, kEmaStep) : nullptr;
  const bool strict = io.check == CheckMode::strict;
  const auto kernel = !packed               ? update_all<false, 1, T>
                      : plan.nest.rank <= 1 ? update_all<true, kCount, T>
                                            : update_all<false, kCount, T>;
  return launch_kernel(kernel, grid_for_all(plan.numel, packed ? kCount : 1), kThreads, 0, io.stream, plan,
                       tensors, step, strict, io.fault);
}

}  // namespace

cudaError_t launch_apply_fused_ema_adam(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmaAdamPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
