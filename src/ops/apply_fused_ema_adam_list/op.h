// ApplyFusedEmaAdamList: arguments and plan.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/layout.h"
#include "cpu/dispatch.h"
#include "ops/apply_fused_ema_adam/op.h"
#include "ops/contract.h"
#include "runtime/tensor.h"

namespace openaclnn {

// The lists in the order of the signature; the first five are the tensors of ApplyFusedEmaAdam in its order.
enum EmaAdamList { kEmaListGrad, kEmaListVar, kEmaListM, kEmaListV, kEmaListS, kEmaListCopy, kEmaLists };

// The tensors behind the lists, in the order of the signature.
enum EmaAdamListTensor { kEmaListStep, kEmaListGradScale, kEmaListFoundInf, kEmaListTensors };

struct EmaAdamListArgs {
  std::array<std::shared_ptr<const HandleList>, kEmaLists> lists;  // nullptr: not given
  std::array<Argument, kEmaListTensors> tensors;
  Status tensors_found;  // V3 of these: it comes after the tensors of the lists
  EmaAdamAttributes attributes;

  size_t length() const { return lists[kEmaListGrad]->elements.size(); }
  bool has_copies() const { return lists[kEmaListCopy] != nullptr; }
};

// One index of the lists that is not empty.
struct EmaAdamListItem {
  int64_t start;  // elements of all items before this one
  int64_t numel;
  int64_t index;                           // within the lists
  int64_t nest;                            // of the plan's nests, or kAllContiguous
  std::array<int64_t, kEmaLists> offsets;  // elements
  std::array<aclDataType, kEmaLists> dtypes;
};
inline constexpr int64_t kAllContiguous = -1;

using EmaAdamListNest = LoopNest<kEmaLists>;  // without copies: the sixth operand repeats var

// Followed by `items` items and then the nests of those that need one.
struct EmaAdamListPlan {
  EmaAdamAttributes attributes;
  int64_t lists_length;
  int64_t items;
  int64_t numel;          // of all items
  int64_t traffic_bytes;  // read and written
  bool has_copies;
  std::array<int64_t, kEmaListTensors> parameters;  // numbers in the call, or kNotGiven
  std::array<int64_t, kEmaListTensors> offsets;     // elements
};
inline constexpr int64_t kNotGiven = -1;

inline const EmaAdamListItem* items_of(const EmaAdamListPlan& plan) {
  return plan_items<EmaAdamListItem>(plan);
}
inline const EmaAdamListNest& nest_of(const EmaAdamListPlan& plan, const EmaAdamListItem& item) {
  return reinterpret_cast<const EmaAdamListNest*>(items_of(plan) + plan.items)[item.nest];
}

// Checks and plans in one pass over the lists: what was checked is what is planned, whatever other threads do to the tensors.
Result<Call> check_and_plan(const EmaAdamListArgs& args);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_ema_adam_list)
