// ApplyFusedEmaAdamList: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam_list/tests/call_cases.h"
#include "ops/apply_fused_ema_adam_list/tests/schema.h"

namespace openaclnn_test {
namespace {

using namespace apply_fused_ema_adam_list_schema;

TEST(EmaAdamListPhase1, EveryFaultHasItsCodeAndSentence) { expect_every_fault_is_found(list_test()); }
TEST(EmaAdamListPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(list_test()), 4000);
}
TEST(EmaAdamListPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(list_test()); }
TEST(EmaAdamListPhase1, RefusesEveryOtherMode) {
  expect_refused_numbers(list_test(), kMode, {-1, 2, int64_t{1} << 32},
                         [](int64_t mode) { return "mode is " + std::to_string(mode); });
}
TEST(EmaAdamListPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(list_test()); }
TEST(EmaAdamListPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  expect_distinct_outputs(list_test());
}
TEST(EmaAdamListPhase1, AcceptsExactlyTheseDtypes) {
  const aclDataType kFloat[] = {ACL_FLOAT}, kCopies[] = {ACL_FLOAT16, ACL_BF16}, kInt64[] = {ACL_INT64};
  const aclDataType kGrads[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
  expect_exactly_these_dtypes(list_test(), {kGrad}, kGrads);
  expect_exactly_these_dtypes(list_test(), {kVar}, kFloat);  // with copies
  Schema without_copies = list_test();
  without_copies.valid.numbers[kListStates + kCopy] = kListNull;
  expect_exactly_these_dtypes(without_copies, {kGrad, kVar, kM, kV, kS}, kGrads);
  expect_exactly_these_dtypes(list_test(), {kCopy}, kCopies);
  expect_exactly_these_dtypes(list_test(), {kStepAt}, kInt64);
  expect_exactly_these_dtypes(list_test(), {kScaleAt}, kFloat);
  expect_exactly_these_dtypes(list_test(), {kFoundInfAt}, kFloat);
}

// All 81 combinations of dtypes of grad, var, m and v = s.
TEST(EmaAdamListPhase1, AcceptsOneDtypeOrFloatStates) {
  Schema test = list_test();
  test.valid.numbers[kListStates + kCopy] = kListNull;
  int accepted = 0;
  constexpr aclDataType kDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
  for (const aclDataType grad : kDtypes) {
    for (const aclDataType var : kDtypes) {
      for (const aclDataType m : kDtypes) {
        for (const aclDataType v : kDtypes) {
          CallArguments call = test.valid;
          for (const auto& [k, dtype] : {std::pair{kGrad, grad}, {kVar, var}, {kM, m}, {kV, v}, {kS, v}})
            call.tensors[k].dtype = dtype;
          const bool fits = v == m && (m == ACL_FLOAT || (grad == m && var == m));
          EXPECT_EQ(test.run(call).phase1, fits ? 0 : kInvalid) << grad << var << m << v;
          accepted += fits;
        }
      }
    }
  }
  EXPECT_EQ(accepted, 9 + 2);
}

// ---- several indices ----

// Lists of tensors without memory; change(list, index, arguments) spoils some.
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

// An earlier check at a later index comes first; within a check the lower index does.
TEST(EmaAdamListIndices, TheFirstCheckAndThenTheFirstIndexDecides) {
  const auto both = [](size_t k, size_t n, TensorArgument& t) {
    if (k == kVar && n == 2) t.dims = {3};
    if (k == kS && n == 30) t.dtype = ACL_FLOAT16;
    if (k == kGrad && n == 31) t.dtype = ACL_FLOAT16;  // mixed: not a fault
    if (k == kM && n == 35) t.dtype = ACL_INT64;
  };
  EXPECT_TRUE(
      failed_in_phase1(run_indices(40, both), kListPhase1, kInvalid, {"mRefs[35] has dtype ACL_INT64"}));
  const auto alike = [](size_t k, size_t n, TensorArgument& t) {
    if ((k == kVar && n == 9) || (k == kGrad && n == 12)) t.dims = {3};
  };
  EXPECT_TRUE(failed_in_phase1(run_indices(40, alike), kListPhase1, kInvalid, {"varRefs[9] has shape [3]"}));
}

// Views of stride 0 may describe more elements than any memory holds, in one tensor or in all of them.
TEST(EmaAdamListIndices, CountsOfAllElementsFitInt64) {
  const auto vast = [](size_t, size_t, TensorArgument& t) { t.dims = {int64_t{1} << 58}; };
  EXPECT_TRUE(failed_in_phase1(run_indices(2, vast), kListPhase1, kInvalid, {"too many elements"}));
  const auto large = [](size_t, size_t, TensorArgument& t) { t.dims = {int64_t{1} << 50}; };
  EXPECT_EQ(run_indices(2, large).phase1, 0);
}

}  // namespace
}  // namespace openaclnn_test
