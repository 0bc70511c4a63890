// ApplyFusedEmaAdamList as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/apply_fused_ema_adam_list/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"
#include "verify/tensor_list.h"

namespace openaclnn_verify {

inline Phase1 ema_list_phase1(const ListForm& form) {
  return [form](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const EmaAttributes& a = form.attributes;
    std::vector<TensorList> lists;
    for (size_t k = 0; k < form.lists(); ++k) lists.emplace_back(t.subspan(form.at(k, 0), form.length));
    return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
        lists[kGrad].get(), lists[kVar].get(), lists[kM].get(), lists[kV].get(), lists[kS].get(),
        form.has_copies ? lists[kCopy].get() : nullptr, t[form.step()],
        form.has_scale ? t[form.scale()] : nullptr, form.has_found_inf ? t[form.found_inf()] : nullptr, a.lr,
        a.ema_decay, a.beta1, a.beta2, a.eps, a.mode, a.bias_correction, a.weight_decay, workspace_bytes,
        executor);
  };
}

// The tensors with one index.
struct IndexCase {
  Shape dims;
  aclDataType grad = ACL_FLOAT, var = ACL_FLOAT, state = ACL_FLOAT, copy = ACL_BF16;
  Layout layout = Layout::contiguous;

  aclDataType dtype(size_t list) const {
    return list == kGrad ? grad : list == kVar ? var : list == kCopy ? copy : state;
  }
};

inline IndexCase uniform_index(aclDataType dtype, Shape dims, Layout layout = Layout::contiguous) {
  return {std::move(dims), dtype, dtype, dtype, ACL_BF16, layout};
}

// A form without tensor counts, which the indices determine.
inline Case ema_list_case(ListForm form, const std::vector<IndexCase>& indices, const std::string& name) {
  struct Data {
    Values values;
    int64_t low, high;
  };
  constexpr Data kData[kMostLists] = {{Values::symmetric, -12, 3}, {Values::symmetric, -8, 2},
                                      {Values::symmetric, -12, 2}, {Values::positive, -14, 3},
                                      {Values::symmetric, -8, 2},  {Values::none, 0, 0}};
  form.length = indices.size();
  Case made;
  made.name = "ApplyFusedEmaAdamList " + name;
  made.minimal_bytes = 0;
  for (size_t k = 0; k < form.lists(); ++k) {
    for (size_t n = 0; n < indices.size(); ++n) {
      const IndexCase& index = indices[n];
      const Role role = k == kGrad ? Role::input : k == kCopy ? Role::output : Role::reference;
      const Data& data = kData[k];
      made.tensors.push_back({std::string(kListNames[k]) + "[" + std::to_string(n) + "]", index.dtype(k),
                              index.dims, role, data.values, data.low, data.high, index.layout});
      made.minimal_bytes +=
          count_elements(index.dims) * element_bytes(index.dtype(k)) * (role == Role::reference ? 2 : 1);
    }
  }
  const auto number = [](const char* tensor, aclDataType dtype, int64_t value) {
    return TensorCase{tensor, dtype, {1}, Role::input, Values::whole, value, value, Layout::contiguous};
  };
  made.tensors.push_back(number("step", ACL_INT64, 7));
  if (form.has_scale) made.tensors.push_back(number("gradScaleOptional", ACL_FLOAT, 1024));
  if (form.has_found_inf) made.tensors.push_back(number("foundInfOptional", ACL_FLOAT, 0));
  made.phase1 = ema_list_phase1(form);
  made.phase2 = openaclnnApplyFusedEmaAdamList;
  made.judge = ema_list_judge(form);
  made.attributes = recorded_attributes_of(form.attributes);
  return made;
}

inline std::vector<Case> apply_fused_ema_adam_list_cases() {
  const EmaAttributes l2 = {.lr = 0.01, .mode = 0, .weight_decay = 0.1};
  const EmaAttributes decoupled = {.lr = 0.01, .ema_decay = 0.99, .mode = 1, .weight_decay = 0.1};
  const EmaAttributes uncorrected = {.lr = 0.01, .mode = 1, .bias_correction = false, .weight_decay = 0};
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    cases.push_back(ema_list_case({.attributes = decoupled},
                                  {uniform_index(dtype, {}), uniform_index(dtype, {30001}),
                                   uniform_index(dtype, {7, 5}), uniform_index(dtype, {111, 257})},
                                  std::string(dtype_name(dtype)) + " tensors of many sizes"));
  }
  std::vector<IndexCase> many;
  for (int64_t n = 0; n < 24; ++n) many.push_back(uniform_index(ACL_FLOAT, {n % 7 + 1, n * 37 % 301 + 1}));
  cases.push_back(ema_list_case({.attributes = l2}, many, "many small tensors"));
  cases.push_back(ema_list_case({.attributes = l2, .has_found_inf = true},
                                {uniform_index(ACL_BF16, {20011}),
                                 {{20011}, ACL_BF16, ACL_BF16},
                                 uniform_index(ACL_FLOAT, {3001}),
                                 {{9001}, ACL_FLOAT, ACL_FLOAT16}},
                                "dtypes that differ by index"));
  cases.push_back(ema_list_case({.attributes = uncorrected},
                                {{{5003}, ACL_FLOAT16, ACL_BF16},
                                 {{5003}, ACL_BF16, ACL_FLOAT},
                                 {{5003}, ACL_FLOAT, ACL_BF16},
                                 {{31, 607}, ACL_FLOAT16, ACL_FLOAT16}},
                                "16-bit gradients and parameters, FLOAT state"));
  cases.push_back(
      ema_list_case({.attributes = decoupled, .has_copies = true, .has_scale = true, .has_found_inf = true},
                    {{{29, 691}, ACL_BF16},
                     {{13, 1009}, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT16},
                     {{7, 100}, ACL_FLOAT}},
                    "FLOAT parameters with 16-bit copies, scaled gradients"));
  cases.push_back(ema_list_case({.attributes = l2, .has_scale = true},
                                {uniform_index(ACL_BF16, {20011}), uniform_index(ACL_FLOAT16, {2000}),
                                 uniform_index(ACL_FLOAT, {9, 1201})},
                                "scaled gradients of one dtype"));
  cases.push_back(ema_list_case({.attributes = decoupled, .has_copies = true},
                                {{{57, 311}, ACL_BF16, ACL_FLOAT, ACL_FLOAT, ACL_BF16, Layout::padded},
                                 {{31, 57}, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT16, Layout::transposed},
                                 {{9, 301, 7}, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT, ACL_BF16, Layout::mixed}},
                                "strided views with copies"));
  return cases;
}

// Makes a random case with at most about `elements` elements.
inline Case apply_fused_ema_adam_list_random_case(Draw& draw, int64_t elements) {
  ListForm form;
  form.attributes = {.lr = .01, .mode = draw.below(2), .bias_correction = draw.chance(2), .weight_decay = .1};
  form.has_copies = draw.chance(3);
  form.has_scale = draw.chance(3);
  form.has_found_inf = draw.chance(3);
  const int64_t length = draw.between(1, 5);
  std::vector<IndexCase> indices;
  for (int64_t n = 0; n < length; ++n) {
    const Layout layout = draw.layout();
    const Shape dims = draw.shape(elements / (5 * length) + 1);
    IndexCase index = uniform_index(draw.pick(kFloatDtypes), dims, layout);
    // FLOAT state, which copies require.
    if (form.has_copies || draw.chance(2)) index.state = ACL_FLOAT;
    if (form.has_copies) index.var = ACL_FLOAT;
    if (form.has_copies && draw.chance(2)) index.copy = ACL_FLOAT16;
    indices.push_back(index);
  }
  return ema_list_case(form, indices, std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, half of them in each mode.
inline std::vector<Case> apply_fused_ema_adam_list_numerics_cases(int64_t elements) {
  constexpr int64_t kCalls = 20;
  // An element of each of the four indices gives 5 results of FLOAT16, 5 of BF16 and 6 of FLOAT. A tenth more
  // are made, because the bounds do not cover some elements.
  const int64_t numel = elements / (5 * kCalls) + elements / (50 * kCalls) + 100;
  std::vector<Case> cases;
  for (int64_t call = 0; call < kCalls; ++call) {
    const EmaAttributes attributes = {.lr = .01, .mode = call % 2, .weight_decay = call % 4 < 2 ? .1 : 0};
    cases.push_back(ema_list_case({.attributes = attributes, .has_scale = call % 5 == 0},
                                  {uniform_index(ACL_FLOAT16, {numel}),
                                   uniform_index(ACL_BF16, {numel}),
                                   {{numel}, ACL_BF16, ACL_FLOAT16},
                                   {{numel}, ACL_FLOAT16, ACL_BF16}},
                                  "part " + std::to_string(call)));
  }
  return cases;
}

// The judge of a recorded call.
inline JudgeResults apply_fused_ema_adam_list_recorded_judge(const RecordedCall& call) {
  ListForm form = {recorded_ema_attributes(call), call.list_length};
  form.has_copies = call.tensors.contains("varCopiesOptional");
  form.has_scale = call.tensors.contains("gradScaleOptional");
  form.has_found_inf = call.tensors.contains("foundInfOptional");
  return ema_list_judge(form);
}

}  // namespace openaclnn_verify
