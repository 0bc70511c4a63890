// ApplyFusedEmaAdamList: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "ops/apply_fused_ema_adam_list/tests/call_cases.h"
#include "ops/apply_fused_ema_adam_list/tests/schema.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace apply_fused_ema_adam_list_schema;

// Without copies: all 81 combinations of dtypes of grad, var, m and v = s, and one dtype for all of them.
std::vector<Trial> mixed_dtypes() {
  std::vector<Trial> trials;
  const auto with = [](const std::array<aclDataType, 4>& dtypes) {
    return [dtypes](CallArguments& a) {
      const auto [grad, var, m, v] = dtypes;
      a.numbers[kListStates + kCopy] = kListNull;
      for (const auto& [k, dtype] : {std::pair{kGrad, grad}, {kVar, var}, {kM, m}, {kV, v}, {kS, v}})
        a.tensors[k].dtype = dtype;
    };
  };
  for (const aclDataType grad : kFloatDtypes) {
    for (const aclDataType var : kFloatDtypes) {
      for (const aclDataType m : kFloatDtypes) {
        for (const aclDataType v : kFloatDtypes) {
          const auto change = with({grad, var, m, v});
          const bool fits = v == m && (m == ACL_FLOAT || (grad == m && var == m));
          const std::string what = list_text({grad, var, m, v});
          trials.push_back(fits ? accepts(what, change) : refuses(what, change, {}));
        }
      }
    }
  }
  for (int value = -2; value <= 45; ++value) {
    const auto dtype = static_cast<aclDataType>(value);
    if (std::ranges::count(kFloatDtypes, dtype) > 0) continue;
    trials.push_back(refuses("dtype " + std::to_string(value), with({dtype, dtype, dtype, dtype}),
                             {"grads[0] has dtype ", "must be"}));
  }
  return trials;
}

std::vector<Refusals> refusals() {
  Refusals all = {.name = "Default", .schema = list_test(), .least_pairs = 4000};
  all.trials = wrong_numbers(all.schema, kMode, {-1, 2, int64_t{1} << 32});
  // With copies, parameters are FLOAT. mixed_dtypes() has the other combinations.
  for (AcceptedDtypes& list : all.dtypes) {
    if (list.together.front() == kVar) list.accepted = {ACL_FLOAT};
  }
  std::erase_if(all.dtypes, [](const AcceptedDtypes& list) { return list.together.front() == kM; });
  append(all.trials, mixed_dtypes());
  return {all};
}
INSTANTIATE_TEST_SUITE_P(EmaAdamList, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

// ---- Several indices ----

// Lists of tensors without memory; change(list, index, arguments) makes some of them invalid.
Outcome run_indices(size_t length, const std::function<void(size_t, size_t, TensorArgument&)>& change) {
  std::vector<std::unique_ptr<TensorList>> lists;
  for (size_t k = 0; k < kCopy; ++k) {
    std::vector<aclTensor*> tensors;
    for (size_t n = 0; n < length; ++n) {
      TensorArgument t = {.dims = {static_cast<int64_t>(n) + 1, 8}};
      change(k, n, t);
      tensors.push_back(aclCreateTensor(t.dims.data(), t.dims.size(), t.dtype,
                                        t.strides.empty() ? nullptr : t.strides.data(), t.offset, t.format,
                                        t.dims.data(), t.dims.size(), nullptr));
    }
    lists.push_back(std::make_unique<TensorList>(tensors));
    for (size_t n = 0; n < length; ++n) {
      aclDestroyTensor(tensors[n]);
      TensorArgument t;
      change(k, n, t);
      if (t.handle == Handle::stale) aclDestroyTensor((*lists[k])[n]);
    }
  }
  const int64_t one = 1;
  const Descriptor step(aclCreateTensor(&one, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, &one, 1, nullptr));
  take_error_text();
  Outcome outcome;
  uint64_t bytes = 1;
  aclOpExecutor* executor = nullptr;
  outcome.phase1 = openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
      lists[kGrad]->get(), lists[kVar]->get(), lists[kM]->get(), lists[kV]->get(), lists[kS]->get(), nullptr,
      step.get(), nullptr, nullptr, 1e-3, .9999, .9, .999, 1e-8, 1, true, 0, &bytes, &executor);
  outcome.error = take_error_text();
  outcome.out_values_untouched = bytes == 1 && executor == nullptr;
  outcome.workspace_bytes = bytes;
  if (executor != nullptr) aclDestroyAclOpExecutor(executor);
  return outcome;
}

TEST(EmaAdamListIndices, SentencesNameListAndIndex) {
  const auto refused_with = [](size_t list, size_t index, const std::function<void(TensorArgument&)>& spoil,
                               const std::vector<std::string>& sentence) {
    return failed_in_phase1(run_indices(40,
                                        [&](size_t k, size_t n, TensorArgument& t) {
                                          if (k == list && n == index) spoil(t);
                                        }),
                            kListPhase1, kInvalid, sentence);
  };
  EXPECT_EQ(run_indices(40, [](size_t, size_t, TensorArgument&) {}).phase1, 0);
  EXPECT_TRUE(refused_with(kVar, 17, [](TensorArgument& t) { t.dims = {3}; },
                           {"varRefs[17] has shape [3] but grads[17] has shape [18, 8]"}));
  EXPECT_TRUE(
      refused_with(kS, 39, [](TensorArgument& t) { t.dtype = ACL_INT8; }, {"sRefs[39] has dtype ACL_INT8"}));
  EXPECT_TRUE(refused_with(kGrad, 0, [](TensorArgument& t) { t.handle = Handle::stale; },
                           {"grads[0] is not a live tensor"}));
  EXPECT_TRUE(refused_with(kV, 20, [](TensorArgument& t) { t.format = ACL_FORMAT_FRACTAL_NZ; },
                           {"vRefs[20] has format 29"}));
  EXPECT_TRUE(refused_with(kM, 5,
                           [](TensorArgument& t) {
                             t.strides = {0, 1};
                           },
                           {"mRefs[5] has shape [6, 8]"}));
}

// An earlier check at a later index takes precedence. Within a check the lower index does.
TEST(EmaAdamListIndices, TheFirstCheckAndThenTheFirstIndexDecides) {
  const auto both = [](size_t k, size_t n, TensorArgument& t) {
    if (k == kVar && n == 2) t.dims = {3};
    if (k == kS && n == 30) t.dtype = ACL_FLOAT16;
    if (k == kGrad && n == 31) t.dtype = ACL_FLOAT16;  // mixed: not a mistake
    if (k == kM && n == 35) t.dtype = ACL_INT64;
  };
  EXPECT_TRUE(
      failed_in_phase1(run_indices(40, both), kListPhase1, kInvalid, {"mRefs[35] has dtype ACL_INT64"}));
  const auto alike = [](size_t k, size_t n, TensorArgument& t) {
    if ((k == kVar && n == 9) || (k == kGrad && n == 12)) t.dims = {3};
  };
  EXPECT_TRUE(failed_in_phase1(run_indices(40, alike), kListPhase1, kInvalid, {"varRefs[9] has shape [3]"}));
}

// Views with stride 0 may describe more elements than any memory holds, in one tensor or in all together.
TEST(EmaAdamListIndices, CountsOfAllElementsFitInt64) {
  const auto vast = [](size_t, size_t, TensorArgument& t) { t.dims = {int64_t{1} << 58}; };
  EXPECT_TRUE(failed_in_phase1(run_indices(2, vast), kListPhase1, kInvalid, {"too many elements"}));
  const auto large = [](size_t, size_t, TensorArgument& t) { t.dims = {int64_t{1} << 50}; };
  EXPECT_EQ(run_indices(2, large).phase1, 0);
}

}  // namespace
}  // namespace openaclnn_test
