// ApplyFusedEmaAdam: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ops/apply_fused_ema_adam/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kNull = 161001;
constexpr int kInvalid = 161002;

// Everything phase 1 gets, open to one spoiled part or several.
struct Arguments {
  enum class Handle { live, null, stale, executor_bits, other_kind };
  struct Tensor {
    Handle handle = Handle::live;
    aclDataType dtype = ACL_FLOAT;
    Shape dims = {4, 8};
    Shape strides;  // empty: NULL
    int64_t offset = 0;
    aclFormat format = ACL_FORMAT_ND;
  };
  std::array<Tensor, kEmaTensors> tensors;
  int64_t mode = 1;
  bool has_workspace_pointer = true;
  bool has_executor_pointer = true;

  Arguments() {
    tensors[kStep].dtype = ACL_INT64;
    tensors[kStep].dims = {1};
  }
};

// The memory is never touched: phase 1 fails, or the executor is destroyed.
Outcome run_phase1(const Arguments& arguments) {
  std::vector<Descriptor> owned;
  std::array<aclTensor*, kEmaTensors> handles;
  aclIntArray* const other_kind = aclCreateIntArray(nullptr, 0);
  for (size_t k = 0; k < kEmaTensors; ++k) {
    const Arguments::Tensor& t = arguments.tensors[k];
    aclTensor* made =
        aclCreateTensor(t.dims.data(), t.dims.size(), t.dtype, t.strides.empty() ? nullptr : t.strides.data(),
                        t.offset, t.format, t.dims.data(), t.dims.size(), nullptr);
    switch (t.handle) {
      case Arguments::Handle::live: break;
      case Arguments::Handle::stale: aclDestroyTensor(made); break;
      default:
        aclDestroyTensor(made);
        made = t.handle == Arguments::Handle::null ? nullptr
               : t.handle == Arguments::Handle::other_kind
                   ? reinterpret_cast<aclTensor*>(other_kind)
                   : reinterpret_cast<aclTensor*>(uintptr_t{0x123456789ABCDEF0});
    }
    if (t.handle == Arguments::Handle::live) owned.emplace_back(made);
    handles[k] = made;
  }
  take_error_text();

  constexpr uint64_t kSentinel = 0x0123456789ABCDEF;
  uint64_t workspace_bytes = kSentinel;
  aclOpExecutor* const sentinel = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x5A5A5A5A});
  aclOpExecutor* executor = sentinel;
  EmaAttributes attributes;
  attributes.mode = arguments.mode;
  Outcome outcome;
  outcome.phase1 =
      ema_adam_phase1(attributes)(handles, arguments.has_workspace_pointer ? &workspace_bytes : nullptr,
                                  arguments.has_executor_pointer ? &executor : nullptr);
  outcome.error = take_error_text();
  outcome.out_values_untouched = workspace_bytes == kSentinel && executor == sentinel;
  if (outcome.phase1 == 0) aclDestroyAclOpExecutor(executor);
  aclDestroyIntArray(other_kind);
  return outcome;
}

// One thing that is wrong. Faults are listed in the order in which they must be found.
struct Fault {
  int row;           // V1 … V9
  std::string part;  // what it spoils; two faults of one part cannot be combined
  int code;
  std::vector<std::string> sentence;
  std::function<void(Arguments&)> apply;
};

std::vector<Fault> faults() {
  std::vector<Fault> list;
  const auto add = [&](int row, const std::string& part, int code, std::vector<std::string> sentence,
                       std::function<void(Arguments&)> apply) {
    list.push_back({row, part, code, std::move(sentence), std::move(apply)});
  };
  const auto each = [&](int first, int last, const auto& make) {
    for (int k = first; k <= last; ++k) make(static_cast<size_t>(k), std::string(kEmaNames[k]));
  };
  const auto handle = [&](int row, int code, const std::string& sentence, Arguments::Handle state) {
    each(kGrad, kStep, [&](size_t k, const std::string& name) {
      add(row, name + " handle", code, {name, sentence},
          [k, state](Arguments& a) { a.tensors[k].handle = state; });
    });
  };
  add(1, "workspaceSize", kNull, {"workspaceSize is NULL"},
      [](Arguments& a) { a.has_workspace_pointer = false; });
  add(1, "executor", kNull, {"executor is NULL"}, [](Arguments& a) { a.has_executor_pointer = false; });
  handle(2, kNull, "is NULL", Arguments::Handle::null);
  handle(3, kInvalid, "is not a live tensor", Arguments::Handle::stale);

  each(kGrad, kS, [&](size_t k, const std::string& name) {
    add(4, name + " dtype", kInvalid, {name, "ACL_INT32", "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16"},
        [k](Arguments& a) { a.tensors[k].dtype = ACL_INT32; });
  });
  add(4, "step dtype", kInvalid, {"step", "ACL_FLOAT", "it must be ACL_INT64"},
      [](Arguments& a) { a.tensors[kStep].dtype = ACL_FLOAT; });
  each(kVar, kS, [&](size_t k, const std::string& name) {
    add(4, name + " dtype", kInvalid, {name + " has dtype ACL_FLOAT16", "grad has dtype ACL_FLOAT", "equal"},
        [k](Arguments& a) { a.tensors[k].dtype = ACL_FLOAT16; });
  });
  each(kGrad, kStep, [&](size_t k, const std::string& name) {
    add(5, name + " dims", kInvalid, {name, "rank 9", "8"},
        [k](Arguments& a) { a.tensors[k].dims = Shape(9, 1); });
  });
  each(kVar, kS, [&](size_t k, const std::string& name) {
    add(6, name + " dims", kInvalid, {name + " has shape [8, 4]", "grad has shape [4, 8]", "equal"},
        [k](Arguments& a) {
          a.tensors[k].dims = {8, 4};
        });
  });
  add(6, "step dims", kInvalid, {"step has shape [3, 0]", "at least one element"}, [](Arguments& a) {
    a.tensors[kStep].dims = {3, 0};
  });
  add(7, "mode", kInvalid, {"mode is 2", "0", "1"}, [](Arguments& a) { a.mode = 2; });
  each(kGrad, kStep, [&](size_t k, const std::string& name) {
    add(8, name + " format", kInvalid, {name, "format 29", "ND"},
        [k](Arguments& a) { a.tensors[k].format = ACL_FORMAT_FRACTAL_NZ; });
  });
  each(kVar, kS, [&](size_t k, const std::string& name) {
    add(9, name + " dims", kInvalid, {name + " has shape [4, 8]", "strides [0, 1]", "distinct"},
        [k](Arguments& a) {
          a.tensors[k].strides = {0, 1};
        });
  });
  return list;
}

TEST(EmaAdamPhase1, AcceptsWhatTheFaultsStartFrom) { EXPECT_EQ(run_phase1(Arguments()).phase1, 0); }

TEST(EmaAdamPhase1, EveryFaultHasItsCodeAndSentence) {
  for (const Fault& fault : faults()) {
    Arguments arguments;
    fault.apply(arguments);
    EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmaPhase1, fault.code, fault.sentence))
        << "V" << fault.row << " " << fault.part;
  }
}

TEST(EmaAdamPhase1, TheFirstOfTwoFaultsDecides) {
  const std::vector<Fault> list = faults();
  int pairs = 0;
  for (size_t first = 0; first < list.size(); ++first) {
    for (size_t second = first + 1; second < list.size(); ++second) {
      if (list[first].part == list[second].part) continue;
      Arguments arguments;
      list[second].apply(arguments);
      list[first].apply(arguments);
      // A refused dtype of grad makes the others differ from it; that is a later fault of the same row.
      ASSERT_TRUE(failed_in_phase1(run_phase1(arguments), kEmaPhase1, list[first].code, list[first].sentence))
          << "V" << list[first].row << " " << list[first].part << " with V" << list[second].row << " "
          << list[second].part;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 900);
}

TEST(EmaAdamPhase1, RefusesHandlesOfOtherKinds) {
  for (size_t k = 0; k < kEmaTensors; ++k) {
    for (const Arguments::Handle state : {Arguments::Handle::other_kind, Arguments::Handle::executor_bits}) {
      Arguments arguments;
      arguments.tensors[k].handle = state;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmaPhase1, kInvalid,
                                   {kEmaNames[k], "is not a live tensor"}));
    }
  }
}

TEST(EmaAdamPhase1, AcceptsExactlyThreeDtypes) {
  for (int value = -2; value <= 45; ++value) {
    const aclDataType dtype = static_cast<aclDataType>(value);
    const bool accepted = dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
    Arguments arguments;
    for (size_t k = kGrad; k < kStep; ++k) arguments.tensors[k].dtype = dtype;
    const Outcome outcome = run_phase1(arguments);
    if (accepted) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kEmaPhase1, kInvalid, {"grad has dtype"})) << "dtype " << value;
    }
    Arguments step;
    step.tensors[kStep].dtype = dtype;
    EXPECT_EQ(run_phase1(step).phase1, dtype == ACL_INT64 ? 0 : kInvalid) << "step of dtype " << value;
  }
}

TEST(EmaAdamPhase1, AcceptsExactlyThePlainFormats) {
  for (int value = -2; value <= 60; ++value) {
    const int plain[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};
    const bool accepted = std::find(std::begin(plain), std::end(plain), value) != std::end(plain);
    for (size_t k = 0; k < kEmaTensors; ++k) {
      Arguments arguments;
      arguments.tensors[k].format = static_cast<aclFormat>(value);
      const Outcome outcome = run_phase1(arguments);
      EXPECT_EQ(outcome.phase1, accepted ? 0 : kInvalid) << "format " << value << " of " << kEmaNames[k];
    }
  }
}

TEST(EmaAdamPhase1, RefusesEveryOtherMode) {
  for (const int64_t mode : {int64_t{-1}, int64_t{2}, int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
    Arguments arguments;
    arguments.mode = mode;
    EXPECT_TRUE(
        failed_in_phase1(run_phase1(arguments), kEmaPhase1, kInvalid, {"mode is " + std::to_string(mode)}));
  }
}

TEST(EmaAdamPhase1, RefusesExtentsThatLeaveInt64) {
  const int64_t huge = int64_t{1} << 62;
  struct Extent {
    Shape dims, strides;
    int64_t offset;
    const char* part;
  };
  const Extent extents[] = {{{-1}, {}, 0, "negative"},
                            {{4, -8}, {}, 0, "dim 1 is negative"},
                            {{0, -1}, {}, 0, "negative"},
                            {{huge}, {}, 0, "64-bit"},
                            {{huge, 4}, {}, 0, "64-bit"},
                            {{huge, huge}, {}, 0, "64-bit"},
                            {{2}, {huge}, 0, "64-bit"},
                            {{2}, {-huge}, 0, "64-bit"},
                            {{2}, {INT64_MIN}, 0, "64-bit"},
                            {{2}, {INT64_MAX}, 0, "64-bit"},
                            {{4}, {}, INT64_MAX, "64-bit"},
                            {{4}, {}, INT64_MIN, "64-bit"},
                            {{2, 2}, {huge / 4, -huge / 4}, 0, "64-bit"}};
  for (const Extent& extent : extents) {
    for (size_t k = 0; k < kEmaTensors; ++k) {
      Arguments arguments;
      Arguments::Tensor& tensor = arguments.tensors[k];
      tensor.dims = extent.dims;
      tensor.strides = extent.strides;
      tensor.offset = extent.offset;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmaPhase1, kInvalid, {kEmaNames[k], extent.part}))
          << testing::PrintToString(extent.dims) << testing::PrintToString(extent.strides) << " of "
          << kEmaNames[k];
    }
  }
}

TEST(EmaAdamPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  for (const Shape& strides :
       {Shape{0, 0}, Shape{1, 0}, Shape{1, 1}, Shape{7, 1}, Shape{1, 3}, Shape{-7, 1}, Shape{-1, -1}}) {
    for (size_t k = 0; k < kEmaTensors; ++k) {
      Arguments arguments;
      arguments.tensors[k].strides = strides;
      if (k == kStep) arguments.tensors[k].dims = {4, 8};
      const bool is_output = k >= kVar && k <= kS;
      EXPECT_EQ(run_phase1(arguments).phase1, is_output ? kInvalid : 0)
          << kEmaNames[k] << " with strides " << testing::PrintToString(strides);
    }
  }
  for (const Shape& strides :
       {Shape{8, 1}, Shape{1, 4}, Shape{-8, 1}, Shape{1, -4}, Shape{16, 2}, Shape{2, 8}, Shape{29, 4}}) {
    Arguments arguments;
    for (size_t k = kGrad; k <= kS; ++k) arguments.tensors[k].strides = strides;
    EXPECT_EQ(run_phase1(arguments).phase1, 0) << testing::PrintToString(strides);
  }
}

}  // namespace
}  // namespace openaclnn_test
