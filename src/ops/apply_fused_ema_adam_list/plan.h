// ApplyFusedEmaAdamList: the plan that kernels of all devices read.
#pragma once

#include <array>
#include <cstdint>

#include "base/loop_nest.h"
#include "ops/apply_fused_ema_adam/plan.h"
#include "ops/plan_items.h"

namespace openaclnn {

// The lists in the order of the signature. The first five are the tensors of ApplyFusedEmaAdam in its order.
enum EmaAdamList { kEmaListGrad, kEmaListVar, kEmaListM, kEmaListV, kEmaListS, kEmaListCopy, kEmaLists };

// The tensors after the lists, in the order of the signature.
enum EmaAdamListTensor { kEmaListStep, kEmaListGradScale, kEmaListFoundInf, kEmaListTensors };

// One non-empty index of the lists.
struct EmaAdamListItem {
  int64_t start;  // elements of all items before this one
  int64_t numel;
  int64_t index;                           // within the lists
  int64_t nest;                            // index into the plan's nests, or kAllContiguous
  std::array<int64_t, kEmaLists> offsets;  // elements
  std::array<aclDataType, kEmaLists> dtypes;
};
inline constexpr int64_t kAllContiguous = -1;

using EmaAdamListNest = LoopNest<kEmaLists>;  // without copies: the sixth operand repeats var

// The data of an item that a GPU needs.
struct EmaAdamListEntry {
  int64_t first_tile;  // tiles of all items before this one
  int64_t numel;
  std::array<void*, kEmaLists> addresses;
  std::array<aclDataType, kEmaLists> dtypes;
  int64_t nest;    // index into the table's nests, or kAllContiguous
  int64_t packed;  // 1: neighbouring elements are contiguous
};

// Followed by `items` items, then by the nests of those that need one.
struct EmaAdamListPlan {
  EmaAdamAttributes attributes;
  int64_t lists_length;
  int64_t items;
  int64_t nests;
  int64_t numel;          // of all items
  int64_t traffic_bytes;  // read and written
  bool has_copies;
  std::array<int64_t, kEmaListTensors> parameters;  // numbers in the call, or kNotGiven
  std::array<int64_t, kEmaListTensors> offsets;     // elements
  int64_t table;  // on a GPU: EmaAdamListEntry[items] and EmaAdamListNest[nests] in the workspace
};
inline constexpr int64_t kNotGiven = -1;

inline const EmaAdamListItem* items_of(const EmaAdamListPlan& plan) {
  return plan_items<EmaAdamListItem>(plan);
}
inline const EmaAdamListNest& nest_of(const EmaAdamListPlan& plan, const EmaAdamListItem& item) {
  return reinterpret_cast<const EmaAdamListNest*>(items_of(plan) + plan.items)[item.nest];
}

}  // namespace openaclnn
