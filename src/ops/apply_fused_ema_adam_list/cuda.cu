// ApplyFusedEmaAdamList on a GPU: a table of all tensors in the workspace, and one kernel. Its blocks evenly
// share the elements of all tensors, with any mix of dtypes.
#include "base/plan_tensor.h"
#include "base/search.h"
#include "cuda/float_types.cuh"
#include "cuda/loops.cuh"
#include "cuda/upload.cuh"
#include "ops/apply_fused_ema_adam/update_cuda.cuh"
#include "ops/apply_fused_ema_adam_list/plan.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

constexpr int kTogether = 4;             // elements of a thread: 16 bytes of FLOAT, 8 of the others
constexpr int64_t kTileElements = 4096;  // of one tensor, processed by a block at a time

using Entry = EmaAdamListEntry;

// The data that the kernel needs in addition to the table.
struct Run {
  EmaAdamAttributes attributes;
  const Entry* entries;
  const EmaAdamListNest* nests;
  int64_t items, tiles;
  const int64_t* step;
  const float *grad_scale, *found_inf;  // nullptr: not given
  bool has_copies, strict;
};

// The dtype is almost always the same for all threads of a warp.
template <int kCount>
__device__ __forceinline__ void load(const Entry& entry, int list, int64_t at, float (&to)[kCount]) {
  void* const base = entry.addresses[list];
  switch (entry.dtypes[list]) {
    case ACL_FLOAT: return load_pack(static_cast<const float*>(base) + at, to);
    case ACL_FLOAT16: return load_pack(static_cast<const Float16*>(base) + at, to);
    default: return load_pack(static_cast<const Bfloat16*>(base) + at, to);
  }
}
template <int kCount>
__device__ __forceinline__ void store(const float (&from)[kCount], const Entry& entry, int list, int64_t at) {
  void* const base = entry.addresses[list];
  switch (entry.dtypes[list]) {
    case ACL_FLOAT: return store_pack(from, static_cast<float*>(base) + at);
    case ACL_FLOAT16: return store_pack(from, static_cast<Float16*>(base) + at);
    default: return store_pack(from, static_cast<Bfloat16*>(base) + at);
  }
}

// Updates elements from `element` on, in the order of the tensors' nest. All are read before any is written.
template <int kCount>
__device__ __forceinline__ void update(const EmaAdamCoefficients& coefficients, const Run& run,
                                       const Entry& entry, float grad_scale, int64_t element) {
  int64_t at[kEmaLists] = {element, element, element, element, element, element};
  if (entry.nest != kAllContiguous) find_offsets(run.nests[entry.nest], element, at);
  EmaAdamElements<kCount> x;
  load(entry, kEmaListGrad, at[kEmaListGrad], x.grad);
  load(entry, kEmaListVar, at[kEmaListVar], x.var);
  load(entry, kEmaListM, at[kEmaListM], x.m);
  load(entry, kEmaListV, at[kEmaListV], x.v);
  load(entry, kEmaListS, at[kEmaListS], x.s);
  if (run.grad_scale != nullptr) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) x.grad[k] = x.grad[k] / grad_scale;
  }
  x.update(coefficients);
  store(x.var, entry, kEmaListVar, at[kEmaListVar]);
  store(x.m, entry, kEmaListM, at[kEmaListM]);
  store(x.v, entry, kEmaListV, at[kEmaListV]);
  store(x.s, entry, kEmaListS, at[kEmaListS]);
  if (run.has_copies) store(x.var, entry, kEmaListCopy, at[kEmaListCopy]);
}

// Returns the item that contains a tile.
__device__ __forceinline__ int64_t item_of(const Run& run, int64_t tile) {
  return last_where(0, run.items, [&](int64_t item) { return run.entries[item].first_tile <= tile; });
}

__global__ void __launch_bounds__(kThreads, kBlocksWithRegisters)
    update_lists(const __grid_constant__ Run run, Fault* fault) {
  __shared__ EmaAdamStep prepared;
  __shared__ bool skips;
  if (threadIdx.x == 0) {
    skips = run.found_inf != nullptr && *run.found_inf != 0;  // a skipped step also has no fault
    if (!skips) prepared.prepare(run.attributes, run.step, run.strict, fault);
  }
  __syncthreads();
  if (skips || prepared.is_fault) return;
  const EmaAdamCoefficients coefficients = prepared.coefficients;
  const float grad_scale = run.grad_scale != nullptr ? *run.grad_scale : 1;

  const int64_t share = ceil_div(run.tiles, static_cast<int64_t>(gridDim.x));
  const int64_t first = share * blockIdx.x;
  const int64_t last = first + share < run.tiles ? first + share : run.tiles;
  if (first >= last) return;
  int64_t item = item_of(run, first);
  for (int64_t tile = first; tile < last; ++tile) {
    while (item + 1 < run.items && run.entries[item + 1].first_tile <= tile) ++item;
    const Entry& entry = run.entries[item];
    const int64_t begin = (tile - entry.first_tile) * kTileElements;
    const int64_t end = begin + kTileElements < entry.numel ? begin + kTileElements : entry.numel;
    int64_t singles = begin;
    if (entry.packed) {
      singles = begin + (end - begin) / kTogether * kTogether;
      for (int64_t i = begin + threadIdx.x * kTogether; i < singles; i += kThreads * kTogether)
        update<kTogether>(coefficients, run, entry, grad_scale, i);
    }
    for (int64_t i = singles + threadIdx.x; i < end; i += kThreads)
      update<1>(coefficients, run, entry, grad_scale, i);
  }
}

Entry entry_of(const EmaAdamListPlan& plan, const EmaAdamListItem& item, void* const* elements,
               int64_t first_tile) {
  Entry entry = {};
  entry.first_tile = first_tile;
  entry.numel = item.numel;
  entry.nest = item.nest;
  entry.dtypes = item.dtypes;
  entry.packed = 1;
  LoopNest<kEmaLists> run = {};  // the nest of a contiguous tensor
  run.rank = 1;
  run.dims[0] = item.numel;
  run.strides[0].fill(1);
  const LoopNest<kEmaLists>& nest = item.nest == kAllContiguous ? run : nest_of(plan, item);
  for (int k = 0; k < (plan.has_copies ? kEmaLists : kEmaListCopy); ++k) {
    const size_t list = static_cast<size_t>(k);
    const int64_t bytes = item.dtypes[list] == ACL_FLOAT ? 4 : 2;
    std::byte* const data = static_cast<std::byte*>(elements[k * plan.lists_length + item.index]);
    entry.addresses[list] = data + item.offsets[list] * bytes;
    if (!can_pack(nest, k, entry.addresses[list], bytes, kTogether)) entry.packed = 0;
  }
  return entry;
}

template <class T>
const T* number(const EmaAdamListPlan& plan, const LaunchIo& io, EmaAdamListTensor which) {
  if (plan.parameters[which] == kNotGiven) return nullptr;
  return plan_tensor<const T>(plan, io, which);
}

}  // namespace

cudaError_t launch_apply_fused_ema_adam_list(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const EmaAdamListPlan*>(opaque_plan);
  std::byte* const table = workspace_part<std::byte>(io, plan.table);
  Upload upload(table, io);
  int64_t tiles = 0;
  for (int64_t n = 0; n < plan.items; ++n) {
    upload.append(entry_of(plan, items_of(plan)[n], io.elements, tiles));
    tiles += ceil_div(items_of(plan)[n].numel, kTileElements);
  }
  const auto* const nests = reinterpret_cast<const EmaAdamListNest*>(items_of(plan) + plan.items);
  for (int64_t n = 0; n < plan.nests; ++n) upload.append(nests[n]);
  OPENACLNN_CUDA_TRY(upload.finish());

  Run run = {};
  run.attributes = plan.attributes;
  run.entries = reinterpret_cast<const Entry*>(table);
  run.nests = reinterpret_cast<const EmaAdamListNest*>(run.entries + plan.items);
  run.items = plan.items;
  run.tiles = tiles;
  run.step = plan.attributes.bias_correction ? number<int64_t>(plan, io, kEmaListStep) : nullptr;
  run.grad_scale = number<float>(plan, io, kEmaListGradScale);
  run.found_inf = number<float>(plan, io, kEmaListFoundInf);
  run.has_copies = plan.has_copies;
  run.strict = io.check == CheckMode::strict;
  return launch_kernel(update_lists, grid_of(std::min(tiles, blocks_for(tiles * kThreads))), kThreads, 0,
                       io.stream, run, io.fault);
}

}  // namespace openaclnn::cuda
