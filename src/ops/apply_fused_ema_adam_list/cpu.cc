// ApplyFusedEmaAdamList on the CPU: threads share one range of the elements of all tensors, with any mix of
// dtypes.
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "cpu/loops.h"
#include "cpu/simd.h"
#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/update_cpu.h"
#include "ops/apply_fused_ema_adam_list/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

constexpr int64_t kGranularity = 1024;  // tensors are split among threads at multiples of this
constexpr int64_t kBlock = 512;         // five buffers of floats: 10 KiB, well inside L1

// Data that all elements of a task share.
struct Update {
  const EmaAdamListPlan& plan;
  void* const* addresses;
  EmaAdamCoefficients coefficients;
  bool divides;
  float grad_scale;
};

// Addresses of the first element of each tensor of an item, or of a run of it; nullptr for lists that are not
// given.
using Pointers = std::array<std::byte*, kEmaLists>;

int64_t element_bytes(const EmaAdamListItem& item, size_t list) {
  return item.dtypes[list] == ACL_FLOAT ? 4 : 2;
}

// Sets to[i] = change(from[i]), converted between storage types.
template <class From, class To, class Change>
void convert(const From* from, To* to, int64_t count, const Change& change) {
  int64_t i = 0;
  for (; i + F32::kLanes <= count; i += F32::kLanes) store(change(load(from + i)), to + i);
  if (i < count) store_first(change(load_first(from + i, count - i)), to + i, count - i);
}
template <class From, class To>
void convert(const From* from, To* to, int64_t count) {
  convert(from, to, count, [](F32 x) { return x; });
}

// The gradient as the formula uses it.
template <class From>
void load_grad(const Update& update, const From* from, float* to, int64_t count) {
  if (update.divides) {
    const F32 scale(update.grad_scale);
    convert(from, to, count, [&](F32 g) { return g / scale; });
  } else {
    convert(from, to, count);
  }
}

template <class From>
void load_tensor(const Update& update, size_t list, const From* from, float* to, int64_t count) {
  if (list == kEmaListGrad) {
    load_grad(update, from, to, count);
  } else {
    convert(from, to, count);
  }
}

template <class T>
T* at(const Pointers& pointers, size_t list) {
  return reinterpret_cast<T*>(pointers[list]);
}

// Updates a contiguous run of mixed dtypes. Tensors that are not float pass through buffers in L1, block by
// block.
void update_mixed_run(const Update& update, const EmaAdamListItem& item, const Pointers& run, int64_t count) {
  alignas(64) float buffers[kEmaStep][kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    std::array<float*, kEmaStep> floats;
    const auto is_buffered = [&](size_t k) { return floats[k] == buffers[k]; };
    for (size_t k = 0; k < kEmaStep; ++k) {
      const bool in_place = item.dtypes[k] == ACL_FLOAT && !(k == kEmaListGrad && update.divides);
      floats[k] = in_place ? at<float>(run, k) + begin : buffers[k];
      if (in_place) continue;
      with_float_type(item.dtypes[k], [&](auto type) {
        load_tensor(update, k, at<decltype(type)>(run, k) + begin, buffers[k], size);
      });
    }
    update_run(update.coefficients, floats, size);
    for (size_t k = kEmaListVar; k < kEmaStep; ++k) {
      if (!is_buffered(k)) continue;
      with_float_type(item.dtypes[k],
                      [&](auto type) { convert(buffers[k], at<decltype(type)>(run, k) + begin, size); });
    }
    if (!update.plan.has_copies) continue;
    with_float_type(item.dtypes[kEmaListCopy], [&](auto type) {
      convert(floats[kEmaListVar], at<decltype(type)>(run, kEmaListCopy) + begin, size);
    });
  }
}

bool has_one_dtype(const EmaAdamListItem& item) {
  return std::all_of(item.dtypes.begin(), item.dtypes.begin() + kEmaStep,
                     [&](aclDataType dtype) { return dtype == item.dtypes[0]; });
}

void update_contiguous(const Update& update, const EmaAdamListItem& item, const Pointers& run,
                       int64_t count) {
  if (!has_one_dtype(item) || update.divides || update.plan.has_copies) {
    update_mixed_run(update, item, run, count);
    return;
  }
  with_float_type(item.dtypes[0], [&](auto type) {
    using T = decltype(type);
    std::array<T*, kEmaStep> tensors;
    for (size_t k = 0; k < kEmaStep; ++k) tensors[k] = at<T>(run, k);
    update_run(update.coefficients, tensors, count);
  });
}

Pointers moved(const EmaAdamListItem& item, const Pointers& base, const RunCursor<kEmaLists>& cursor) {
  Pointers pointers = {};
  for (size_t k = 0; k < kEmaLists && base[k] != nullptr; ++k)
    pointers[k] = base[k] + cursor.offset(k) * element_bytes(item, k);
  return pointers;
}

// Updates elements with any strides: gathers every operand into a block of floats and scatters the outputs
// back. Returns the cursor after them.
RunCursor<kEmaLists> update_gathered(const Update& update, const EmaAdamListItem& item, const Pointers& base,
                                     const RunCursor<kEmaLists>& cursor, int64_t count) {
  using Cursor = RunCursor<kEmaLists>;
  Cursor next = cursor;
  alignas(64) float buffers[kEmaStep][kBlock];
  std::array<float*, kEmaStep> floats;
  for (size_t k = 0; k < kEmaStep; ++k) {
    floats[k] = buffers[k];
    with_float_type(item.dtypes[k], [&](auto type) {
      using T = decltype(type);
      T gathered[kBlock];
      next = for_each_piece(cursor, count, [&](const Cursor& place, int64_t done, int64_t piece) {
        const T* const from = at<T>(base, k) + place.offset(k);
        const int64_t stride = place.inner_stride(k);
        for (int64_t i = 0; i < piece; ++i) gathered[done + i] = from[i * stride];
      });
      load_tensor(update, k, gathered, buffers[k], count);
    });
  }
  update_run(update.coefficients, floats, count);
  const auto scatter_back = [&](const float* from, size_t k) {
    with_float_type(item.dtypes[k], [&](auto type) {
      using T = decltype(type);
      T narrowed[kBlock];
      convert(from, narrowed, count);
      for_each_piece(cursor, count, [&](const Cursor& place, int64_t done, int64_t piece) {
        T* const to = at<T>(base, k) + place.offset(k);
        const int64_t stride = place.inner_stride(k);
        for (int64_t i = 0; i < piece; ++i) to[i * stride] = narrowed[done + i];
      });
    });
  };
  for (size_t k = kEmaListVar; k < kEmaStep; ++k) scatter_back(buffers[k], k);
  if (update.plan.has_copies) scatter_back(buffers[kEmaListVar], kEmaListCopy);
  return next;
}

// Updates the elements [begin, end) of an item in the order of its nest.
void update_item(const Update& update, const EmaAdamListItem& item, int64_t begin, int64_t end) {
  Pointers base = {};
  const int64_t first = item.nest == kAllContiguous ? begin : 0;
  for (size_t k = 0; k < (update.plan.has_copies ? kEmaLists : kEmaListCopy); ++k) {
    void* const data = update.addresses[static_cast<int64_t>(k) * update.plan.lists_length + item.index];
    base[k] = static_cast<std::byte*>(data) + (item.offsets[k] + first) * element_bytes(item, k);
  }
  if (item.nest == kAllContiguous) {
    update_contiguous(update, item, base, end - begin);
    return;
  }
  const EmaAdamListNest& nest = nest_of(update.plan, item);
  const bool by_run = nest.inner_is_contiguous() && nest.inner() >= kShortRun;
  RunCursor<kEmaLists> cursor(nest, begin);
  for (int64_t left = end - begin; left > 0;) {
    const int64_t count = std::min(left, by_run ? cursor.left_in_run() : kBlock);
    if (by_run) {
      update_contiguous(update, item, moved(item, base, cursor), count);
      cursor.advance(count);
    } else {
      cursor = update_gathered(update, item, base, cursor, count);
    }
    left -= count;
  }
}

// A position in the range of all elements, rounded down to where a tensor may be split.
struct Cut {
  int64_t item;
  int64_t element;
};
Cut cut_at(const EmaAdamListPlan& plan, int64_t position) {
  if (position == plan.numel) return {plan.items, 0};
  const EmaAdamListItem* const items = items_of(plan);
  const int64_t last = last_where(0, plan.items, [&](int64_t item) { return items[item].start <= position; });
  const int64_t element = position - items[last].start;
  return {last, element - element % kGranularity};
}

void update_all(const Update& update) {
  const EmaAdamListPlan& plan = update.plan;
  const int64_t chunks = cpu::chunks_for(plan.traffic_bytes);
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(plan.numel, chunks, chunk, 1);
    const Cut first = cut_at(plan, range.begin), last = cut_at(plan, range.end);
    for (int64_t n = first.item; n <= last.item && n < plan.items; ++n) {
      const EmaAdamListItem& item = items_of(plan)[n];
      const int64_t begin = n == first.item ? first.element : 0;
      const int64_t end = n == last.item ? last.element : item.numel;
      if (begin < end) update_item(update, item, begin, end);
    }
  });
}

template <class T>
T number(const EmaAdamListPlan& plan, const TaskIo& io, EmaAdamListTensor which) {
  return *plan_tensor<const T>(plan, io, which);
}

}  // namespace

Fault run_apply_fused_ema_adam_list(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const EmaAdamListPlan*>(opaque_plan);
  const auto is_given = [&](EmaAdamListTensor which) { return plan.parameters[which] != kNotGiven; };
  // A skipped step reports no fault: the caller may already have reset its count to 0.
  if (is_given(kEmaListFoundInf) && number<float>(plan, io, kEmaListFoundInf) != 0) return {};
  int64_t t = 1;
  if (plan.attributes.bias_correction) {
    t = number<int64_t>(plan, io, kEmaListStep);
    if (t < 1 && io.check == CheckMode::strict) return step_fault(t);
  }
  const bool divides = is_given(kEmaListGradScale);
  update_all({plan, io.elements, ema_adam_coefficients(plan.attributes, t), divides,
              divides ? number<float>(plan, io, kEmaListGradScale) : 1});
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
