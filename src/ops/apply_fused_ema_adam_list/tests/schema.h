// ApplyFusedEmaAdamList as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1
// accepts.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "ops/apply_fused_ema_adam_list/verify/cases.h"
#include "ops/apply_fused_ema_adam_list/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace apply_fused_ema_adam_list_schema {

// The numbers of a call: mode, and the mistake of each list.
enum Number { kMode, kListStates };
enum ListState : int64_t { kListLive, kListNull, kListStale, kListForeign, kListOtherKind, kListLonger };

inline constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
inline constexpr size_t kStepAt = kMostLists, kScaleAt = kStepAt + 1, kFoundInfAt = kStepAt + 2;

inline bool is_live(const aclTensor* handle) {
  aclDataType dtype = ACL_DT_UNDEFINED;
  return aclGetDataType(handle, &dtype) == 0;
}

// The list that holds one handle. Lists reject stale handles, so handles are destroyed after they were added.
class BrokenList {
 public:
  BrokenList(aclTensor* handle, int64_t state) : state_(state) {
    const int64_t dim = 1;
    const auto any_tensor = [&] {
      return aclCreateTensor(&dim, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &dim, 1, nullptr);
    };
    std::vector<aclTensor*> elements = {is_live(handle) ? copy_descriptor(handle) : any_tensor()};
    if (state == kListLonger) elements.push_back(any_tensor());
    list_ = aclCreateTensorList(elements.data(), elements.size());
    if (!is_live(handle)) aclDestroyTensor(elements[0]);
    if (state == kListStale) aclDestroyTensorList(list_);
  }
  BrokenList(const BrokenList&) = delete;
  BrokenList& operator=(const BrokenList&) = delete;
  ~BrokenList() {
    if (state_ != kListStale) aclDestroyTensorList(list_);
  }

  aclTensorList* handle(void* of_other_kind) const {
    switch (state_) {
      case kListNull: return nullptr;
      case kListForeign: return reinterpret_cast<aclTensorList*>(uintptr_t{0x123456789ABCDEF0});
      case kListOtherKind: return static_cast<aclTensorList*>(of_other_kind);
      default: return list_;
    }
  }

 private:
  int64_t state_;
  aclTensorList* list_;
};

// Calls `phase1`, which takes lists, with lists of the tensors.
inline aclnnStatus list_phase1(const Phase1Call& phase1, const CallHandles& call, uint64_t* workspace_bytes,
                               aclOpExecutor** executor) {
  std::vector<std::unique_ptr<BrokenList>> lists;
  aclIntArray* const other = aclCreateIntArray(nullptr, 0);
  CallHandles with_lists = call;
  for (size_t k = 0; k < kMostLists; ++k) {
    auto* const tensor = static_cast<aclTensor*>(call.tensors[k]);
    lists.push_back(std::make_unique<BrokenList>(tensor, call.numbers[kListStates + k]));
    with_lists.tensors[k] = lists.back()->handle(other);
  }
  take_error_text();  // from the queries whether handles are live
  const aclnnStatus status = phase1(with_lists, workspace_bytes, executor);
  aclDestroyIntArray(other);
  return status;
}

// A mistake of a list as a whole, which cannot be combined with mistakes of the handles in any list.
inline Mistake bad_list(Rule rule, std::string what, size_t list, ListState state,
                        std::vector<std::string> sentence) {
  std::vector<Part> parts = {{Part::number, kListStates + list}};
  for (size_t k = 0; k <= kFoundInfAt; ++k) parts.push_back({Part::handle, k});
  return bad_call(
      rule, std::move(what), parts,
      [list, state](CallArguments& a) { a.numbers[kListStates + list] = state; }, std::move(sentence));
}

inline void add_list_mistakes(std::vector<Mistake>& mistakes) {
  for (size_t k = 0; k < kMostLists; ++k) {
    const std::string name = kListNames[k];
    if (k != kCopy)
      mistakes.push_back(
          bad_list(kRequiredRule, "list NULL", k, kListNull, {name + " is NULL; a tensor list"}));
    for (const ListState state : {kListStale, kListForeign, kListOtherKind})
      mistakes.push_back(
          bad_list(kHandleRule, "list not live", k, state, {name + " is not a live tensor list (0x"}));
  }
  for (size_t k = 0; k < kMostLists; ++k) {
    const std::string sentence = k == kGrad ? "varRefs has 1 tensors but grads has 2"
                                            : std::string(kListNames[k]) + " has 2 tensors but grads has 1";
    mistakes.push_back(bad_list(kHandleRule, "lengths equal", k, kListLonger, {sentence, "must be equal"}));
  }
}

inline void add_dtype_mistakes(std::vector<Mistake>& mistakes) {
  const auto name = [](size_t list) { return std::string(kListNames[list]) + "[0]"; };
  for (size_t k = 0; k < kCopy; ++k) {
    mistakes.push_back(bad_dtype("lists: FLOAT, FLOAT16, BF16", k, ACL_INT32,
                                 {name(k) + " has dtype ACL_INT32; it must be " + kFloats}));
  }
  mistakes.push_back(
      bad_dtype("varCopies: FLOAT16, BF16", kCopy, ACL_FLOAT,
                {"varCopiesOptional[0] has dtype ACL_FLOAT; it must be ACL_FLOAT16 or ACL_BF16"}));
  mistakes.push_back(
      bad_dtype("step INT64", kStepAt, ACL_INT32, {"step has dtype ACL_INT32; it must be ACL_INT64"}));
  mistakes.push_back(bad_dtype("gradScale FLOAT", kScaleAt, ACL_DOUBLE,
                               {"gradScaleOptional has dtype ACL_DOUBLE; it must be ACL_FLOAT"}));
  mistakes.push_back(bad_dtype("foundInf FLOAT", kFoundInfAt, ACL_BOOL,
                               {"foundInfOptional has dtype ACL_BOOL; it must be ACL_FLOAT"}));
  mistakes.push_back(bad_dtype("16-bit m: grad alike", kM, ACL_FLOAT16,
                               {"grads[0] has dtype ACL_FLOAT but mRefs[0] has dtype ACL_FLOAT16",
                                "equal unless mRefs, vRefs and sRefs are ACL_FLOAT"}));
  for (const size_t k : {kV, kS}) {
    mistakes.push_back(bad_dtype("v, s = m", k, ACL_BF16,
                                 {name(k) + " has dtype ACL_BF16 but mRefs[0] has dtype ACL_FLOAT"}));
  }
  mistakes.push_back(
      bad_dtype("with copies: var FLOAT", kVar, ACL_BF16,
                {"varRefs[0] has dtype ACL_BF16; with varCopiesOptional it must be ACL_FLOAT"}));
}

inline std::string refusal(const CallArguments& a) {
  const std::vector<TensorArgument>& t = a.tensors;
  const bool has_copies = a.numbers[kListStates + kCopy] != kListNull;
  const auto is_given = [&](size_t k) { return k == kStepAt || t[k].handle != Handle::null; };
  for (size_t k = kGrad; k < kCopy; ++k) {
    if (!has_dtype(t[k])) return says_dtype(t[k]);
  }
  if (has_copies && !has_dtype(t[kCopy])) return says_dtype(t[kCopy]);
  if (t[kStepAt].dtype != ACL_INT64) return says_dtype(t[kStepAt]);
  for (const size_t k : {kScaleAt, kFoundInfAt}) {
    if (is_given(k) && t[k].dtype != ACL_FLOAT) return says_dtype(t[k]);
  }
  for (const size_t k : {size_t{kGrad}, size_t{kVar}}) {
    if (t[kM].dtype != ACL_FLOAT && t[k].dtype != t[kM].dtype) return says_dtype(t[k]);
  }
  for (const size_t k : {size_t{kV}, size_t{kS}}) {
    if (t[k].dtype != t[kM].dtype) return says_dtype(t[k]);
  }
  if (has_copies && t[kVar].dtype != ACL_FLOAT) return says_dtype(t[kVar]);
  for (size_t k = kVar; k < (has_copies ? kMostLists : kCopy); ++k) {
    if (t[k].dims != t[kGrad].dims) return says_shape(t[k]);
  }
  if (std::ranges::count(t[kStepAt].dims, 0) > 0) return says_shape(t[kStepAt]);
  for (const size_t k : {kScaleAt, kFoundInfAt}) {
    if (is_given(k) && std::ranges::count(t[k].dims, 1) != std::ssize(t[k].dims)) return says_shape(t[k]);
  }
  const int64_t mode = a.numbers[kMode];
  return mode == 0 || mode == 1 ? "" : "mode is " + std::to_string(mode) + ";";
}

inline Schema list_test() {
  const TensorArgument only = {ACL_FLOAT, {4, 8}}, copy = {ACL_BF16, {4, 8}};  // of a list
  const TensorArgument step = {ACL_INT64, {1}, Handle::live, {3}}, scale = {ACL_FLOAT, {1}},
                       found_inf = {ACL_FLOAT, {1, 1}};
  Schema test = schema_of(openaclnn_verify::apply_fused_ema_adam_list_descriptions()[0],
                          {.tensors = {only, only, only, only, only, copy, step, scale, found_inf},
                           .numbers = {1},
                           .reals = {1e-3, .9999, .9, .999, 1e-8, 0},
                           .flags = {true}});
  for (const char* list : kListNames) test.number_names.push_back(list);
  test.valid.numbers.resize(kListStates + kMostLists, kListLive);
  test.refusal = refusal;
  test.phase1 = [phase1 = test.phase1](const CallHandles& call, uint64_t* workspace_bytes,
                                       aclOpExecutor** executor) {
    return list_phase1(phase1, call, workspace_bytes, executor);
  };
  add_list_mistakes(test.mistakes);
  add_dtype_mistakes(test.mistakes);
  for (size_t k = kVar; k < kMostLists; ++k) {
    for (const auto& [dims, shape] : {std::pair(Shape{8, 4}, "[8, 4]"), {Shape{32}, "[32]"}}) {
      test.mistakes.push_back(bad_dims("shapes of an index equal", k, dims,
                                       {test.valid.tensors[k].name + " has shape " + shape,
                                        "grads[0] has shape [4, 8]", "must be equal"}));
    }
  }
  test.mistakes.push_back(
      bad_dims("step not empty", kStepAt, {3, 0}, {"step has shape [3, 0]", "at least one element"}));
  test.mistakes.push_back(
      bad_dims("gradScale one element", kScaleAt, {2}, {"gradScaleOptional has shape [2]", "one element"}));
  test.mistakes.push_back(
      bad_dims("foundInf one element", kFoundInfAt, {0}, {"foundInfOptional has shape [0]", "one element"}));
  test.mistakes.push_back(bad_number(kAttributeRule, "mode 0, 1", kMode, 2, {"mode is 2", "0", "1"}));
  return test;
}

}  // namespace apply_fused_ema_adam_list_schema

inline std::vector<Schema> apply_fused_ema_adam_list_schemas() {
  return {apply_fused_ema_adam_list_schema::list_test()};
}
}  // namespace openaclnn_test
