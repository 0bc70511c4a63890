// ApplyFusedEmaAdamList: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam_list/call_cases.h"
#include "support/phase1_faults.h"

namespace openaclnn_test {
namespace {

// The numbers of a call: mode, and what is wrong with each list.
enum Number { kMode, kListStates };
enum ListState : int64_t { kListLive, kListNull, kListStale, kListForeign, kListOtherKind, kListLonger };

constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
constexpr size_t kStepAt = kMostLists, kScaleAt = kStepAt + 1, kFoundInfAt = kStepAt + 2;

bool is_live(const aclTensor* handle) {
  aclDataType dtype = ACL_DT_UNDEFINED;
  return aclGetDataType(handle, &dtype) == 0;
}

// The list that holds one handle. A list refuses handles that are not live, so those die after they were put in.
class FaultyList {
 public:
  FaultyList(aclTensor* handle, int64_t state) : state_(state) {
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
  FaultyList(const FaultyList&) = delete;
  FaultyList& operator=(const FaultyList&) = delete;
  ~FaultyList() {
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

aclnnStatus list_phase1(const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
  std::vector<std::unique_ptr<FaultyList>> lists;
  aclIntArray* const other = aclCreateIntArray(nullptr, 0);
  std::vector<aclTensorList*> handles;
  for (size_t k = 0; k < kMostLists; ++k) {
    lists.push_back(std::make_unique<FaultyList>(call.tensors[k], call.numbers[kListStates + k]));
    handles.push_back(lists.back()->handle(other));
  }
  take_error_text();  // of the questions whether handles are live
  const aclnnStatus status = openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
      handles[kGrad], handles[kVar], handles[kM], handles[kV], handles[kS], handles[kCopy],
      call.tensors[kStepAt], call.tensors[kScaleAt], call.tensors[kFoundInfAt], 1e-3, .9999, .9, .999, 1e-8,
      call.numbers[kMode], true, 0, workspace_bytes, executor);
  aclDestroyIntArray(other);
  return status;
}

// A fault of a list as a whole, which cannot be combined with faults of the handles in any list.
Fault bad_list(Row row, std::string rule, size_t list, ListState state, std::vector<std::string> sentence) {
  std::vector<Part> parts = {{Part::number, kListStates + list}};
  for (size_t k = 0; k <= kFoundInfAt; ++k) parts.push_back({Part::handle, k});
  return bad_call(
      row, std::move(rule), parts, [list, state](CallArguments& a) { a.numbers[kListStates + list] = state; },
      std::move(sentence));
}

void add_list_faults(std::vector<Fault>& faults) {
  for (size_t k = 0; k < kMostLists; ++k) {
    const std::string name = kListNames[k];
    if (k != kCopy)
      faults.push_back(bad_list(V2, "list NULL", k, kListNull, {name + " is NULL; a tensor list"}));
    for (const ListState state : {kListStale, kListForeign, kListOtherKind})
      faults.push_back(bad_list(V3, "list not live", k, state, {name + " is not a live tensor list"}));
  }
  for (size_t k = 0; k < kMostLists; ++k) {
    const std::string sentence = k == kGrad ? "varRefs has 1 tensors but grads has 2"
                                            : std::string(kListNames[k]) + " has 2 tensors but grads has 1";
    faults.push_back(bad_list(V3, "lengths equal", k, kListLonger, {sentence, "must be equal"}));
  }
}

void add_dtype_faults(std::vector<Fault>& faults) {
  const auto name = [](size_t list) { return std::string(kListNames[list]) + "[0]"; };
  for (size_t k = 0; k < kCopy; ++k) {
    faults.push_back(bad_dtype("lists: FLOAT, FLOAT16, BF16", k, ACL_INT32,
                               {name(k) + " has dtype ACL_INT32; it must be " + kFloats}));
  }
  faults.push_back(bad_dtype("varCopies: FLOAT16, BF16", kCopy, ACL_FLOAT,
                             {"varCopies[0] has dtype ACL_FLOAT; it must be ACL_FLOAT16 or ACL_BF16"}));
  faults.push_back(
      bad_dtype("step INT64", kStepAt, ACL_INT32, {"step has dtype ACL_INT32; it must be ACL_INT64"}));
  faults.push_back(bad_dtype("gradScale FLOAT", kScaleAt, ACL_DOUBLE,
                             {"gradScale has dtype ACL_DOUBLE; it must be ACL_FLOAT"}));
  faults.push_back(bad_dtype("foundInf FLOAT", kFoundInfAt, ACL_BOOL,
                             {"foundInf has dtype ACL_BOOL; it must be ACL_FLOAT"}));
  faults.push_back(bad_dtype("16-bit m: grad alike", kM, ACL_FLOAT16,
                             {"grads[0] has dtype ACL_FLOAT but mRefs[0] has dtype ACL_FLOAT16",
                              "equal unless mRefs, vRefs and sRefs are ACL_FLOAT"}));
  for (const size_t k : {kV, kS}) {
    faults.push_back(bad_dtype("v, s = m", k, ACL_BF16,
                               {name(k) + " has dtype ACL_BF16 but mRefs[0] has dtype ACL_FLOAT"}));
  }
  faults.push_back(bad_dtype("with copies: var FLOAT", kVar, ACL_BF16,
                             {"varRefs[0] has dtype ACL_BF16; with varCopies it must be ACL_FLOAT"}));
}

Phase1Test list_test() {
  Phase1Test test;
  test.function = kListPhase1;
  static const char* const kNames[] = {"grads[0]", "varRefs[0]", "mRefs[0]",
                                       "vRefs[0]", "sRefs[0]",   "varCopies[0]"};
  for (const char* name : kNames) {
    // NULL is no element of a list; a NULL list has faults of its own.
    test.valid.tensors.push_back(
        {.name = name, .role = Role::reference, .dims = {4, 8}, .is_optional = true});
  }
  test.valid.tensors[kGrad].role = Role::input;
  test.valid.tensors[kCopy].role = Role::output;
  test.valid.tensors[kCopy].dtype = ACL_BF16;
  test.valid.tensors.push_back({.name = "step", .dtype = ACL_INT64, .dims = {1}});
  test.valid.tensors.push_back({.name = "gradScale", .dims = {1}, .is_optional = true});
  test.valid.tensors.push_back({.name = "foundInf", .dims = {1, 1}, .is_optional = true});
  test.valid.numbers = {1, 0, 0, 0, 0, 0, 0};
  test.number_names = {"mode", "grads", "varRefs", "mRefs", "vRefs", "sRefs", "varCopies"};
  test.phase1 = list_phase1;
  add_list_faults(test.faults);
  add_dtype_faults(test.faults);
  for (size_t k = kVar; k < kMostLists; ++k) {
    for (const auto& [dims, shape] : {std::pair(Shape{8, 4}, "[8, 4]"), {Shape{32}, "[32]"}}) {
      test.faults.push_back(bad_dims(
          "shapes of an index equal", k, dims,
          {std::string(kNames[k]) + " has shape " + shape, "grads[0] has shape [4, 8]", "must be equal"}));
    }
  }
  test.faults.push_back(
      bad_dims("step not empty", kStepAt, {3, 0}, {"step has shape [3, 0]", "at least one element"}));
  test.faults.push_back(
      bad_dims("gradScale one element", kScaleAt, {2}, {"gradScale has shape [2]", "one element"}));
  test.faults.push_back(
      bad_dims("foundInf one element", kFoundInfAt, {0}, {"foundInf has shape [0]", "one element"}));
  test.faults.push_back(bad_number(V7, "mode 0, 1", kMode, 2, {"mode is 2", "0", "1"}));
  return test;
}

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
  Phase1Test without_copies = list_test();
  without_copies.valid.numbers[kListStates + kCopy] = kListNull;
  expect_exactly_these_dtypes(without_copies, {kGrad, kVar, kM, kV, kS}, kGrads);
  expect_exactly_these_dtypes(list_test(), {kCopy}, kCopies);
  expect_exactly_these_dtypes(list_test(), {kStepAt}, kInt64);
  expect_exactly_these_dtypes(list_test(), {kScaleAt}, kFloat);
  expect_exactly_these_dtypes(list_test(), {kFoundInfAt}, kFloat);
}

// All 81 combinations of dtypes of grad, var, m and v = s.
TEST(EmaAdamListPhase1, AcceptsOneDtypeOrFloatStates) {
  Phase1Test test = list_test();
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
