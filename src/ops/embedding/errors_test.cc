// Embedding: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "ops/embedding/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kNull = 161001;
constexpr int kInvalid = 161002;

// Everything phase 1 gets, open to one spoiled part or several.
struct Arguments {
  enum class Handle { live, null, stale, executor_bits, other_kind };
  struct Tensor {
    aclDataType dtype = ACL_FLOAT;
    Shape dims;
    Shape strides;  // empty: NULL
    int64_t offset = 0;
    aclFormat format = ACL_FORMAT_ND;
    Handle handle = Handle::live;
  };
  std::array<Tensor, kEmbeddingTensors> tensors;
  bool has_workspace_pointer = true;
  bool has_executor_pointer = true;

  Arguments() {
    tensors[kWeight].dims = {5, 8};
    tensors[kIndices].dtype = ACL_INT64;
    tensors[kIndices].dims = {4};
    tensors[kOut].dims = {4, 8};
  }
};

// The memory is never touched: phase 1 fails, or the executor is destroyed.
Outcome run_phase1(const Arguments& arguments) {
  std::vector<Descriptor> owned;
  std::array<aclTensor*, kEmbeddingTensors> handles;
  aclIntArray* const other_kind = aclCreateIntArray(nullptr, 0);
  for (size_t k = 0; k < kEmbeddingTensors; ++k) {
    const Arguments::Tensor& t = arguments.tensors[k];
    aclTensor* made =
        aclCreateTensor(t.dims.data(), t.dims.size(), t.dtype, t.strides.empty() ? nullptr : t.strides.data(),
                        t.offset, t.format, t.dims.data(), t.dims.size(), nullptr);
    if (t.handle == Arguments::Handle::live) {
      owned.emplace_back(made);
    } else {
      aclDestroyTensor(made);
    }
    switch (t.handle) {
      case Arguments::Handle::null: made = nullptr; break;
      case Arguments::Handle::other_kind: made = reinterpret_cast<aclTensor*>(other_kind); break;
      case Arguments::Handle::executor_bits:
        made = reinterpret_cast<aclTensor*>(uintptr_t{0x123456789ABCDEF0});
        break;
      default: break;
    }
    handles[k] = made;
  }
  take_error_text();

  constexpr uint64_t kSentinel = 0x0123456789ABCDEF;
  uint64_t workspace_bytes = kSentinel;
  aclOpExecutor* const sentinel = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x5A5A5A5A});
  aclOpExecutor* executor = sentinel;
  Outcome outcome;
  outcome.phase1 = embedding_phase1(handles, arguments.has_workspace_pointer ? &workspace_bytes : nullptr,
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
  // The same fault of each tensor, in signature order.
  const auto each = [&](int row, const std::string& part, int code, const std::vector<std::string>& sentence,
                        const std::function<void(Arguments::Tensor&)>& apply) {
    for (size_t k = 0; k < kEmbeddingTensors; ++k) {
      std::vector<std::string> parts = sentence;
      parts.push_back(std::string(kEmbeddingNames[k]) + " ");
      add(row, std::string(kEmbeddingNames[k]) + part, code, std::move(parts),
          [k, apply](Arguments& a) { apply(a.tensors[k]); });
    }
  };
  add(1, "workspaceSize", kNull, {"workspaceSize is NULL"},
      [](Arguments& a) { a.has_workspace_pointer = false; });
  add(1, "executor", kNull, {"executor is NULL"}, [](Arguments& a) { a.has_executor_pointer = false; });
  each(2, " handle", kNull, {"is NULL", "required"},
       [](Arguments::Tensor& t) { t.handle = Arguments::Handle::null; });
  each(3, " handle", kInvalid, {"is not a live tensor"},
       [](Arguments::Tensor& t) { t.handle = Arguments::Handle::stale; });
  // Lists first, the relation after them.
  add(4, "weight dtype", kInvalid,
      {"weight has dtype ACL_UINT16",
       "ACL_DOUBLE, ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT64, ACL_INT32, ACL_INT16, ACL_INT8, ACL_UINT8, "
       "ACL_BOOL, ACL_COMPLEX64 or ACL_COMPLEX128"},
      [](Arguments& a) { a.tensors[kWeight].dtype = ACL_UINT16; });
  add(4, "indices dtype", kInvalid, {"indices has dtype ACL_INT16; it must be ACL_INT32 or ACL_INT64"},
      [](Arguments& a) { a.tensors[kIndices].dtype = ACL_INT16; });
  add(4, "out dtype", kInvalid,
      {"out has dtype ACL_FLOAT16 but weight has dtype ACL_FLOAT; they must be equal"},
      [](Arguments& a) { a.tensors[kOut].dtype = ACL_FLOAT16; });
  each(5, " dims", kInvalid, {"has rank 9", "8"}, [](Arguments::Tensor& t) { t.dims = Shape(9, 1); });
  each(5, " dims", kInvalid, {"negative"}, [](Arguments::Tensor& t) { t.dims = Shape{-1, 8}; });
  add(6, "weight dims", kInvalid, {"weight has shape [5, 8, 1]; its rank must be 2"}, [](Arguments& a) {
    a.tensors[kWeight].dims = {5, 8, 1};
  });
  add(6, "out dims", kInvalid, {"out has shape [32]; its rank must be 2"},
      [](Arguments& a) { a.tensors[kOut].dims = {32}; });
  add(6, "out dims", kInvalid, {"out has shape [4, 9]; it must be the shape of indices", "= [4, 8]"},
      [](Arguments& a) {
        a.tensors[kOut].dims = {4, 9};
      });
  each(8, " format", kInvalid, {"format 29", "ND"},
       [](Arguments::Tensor& t) { t.format = ACL_FORMAT_FRACTAL_NZ; });
  add(9, "out dims", kInvalid, {"out has shape [4, 8]", "strides [0, 1]", "distinct"}, [](Arguments& a) {
    a.tensors[kOut].strides = {0, 1};
  });
  return list;
}

TEST(EmbeddingPhase1, AcceptsWhatTheFaultsStartFrom) { EXPECT_EQ(run_phase1(Arguments()).phase1, 0); }

TEST(EmbeddingPhase1, EveryFaultHasItsCodeAndSentence) {
  for (const Fault& fault : faults()) {
    Arguments arguments;
    fault.apply(arguments);
    EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmbeddingPhase1, fault.code, fault.sentence))
        << "V" << fault.row << " " << fault.part;
  }
}

TEST(EmbeddingPhase1, TheFirstOfTwoFaultsDecides) {
  const std::vector<Fault> list = faults();
  int pairs = 0;
  for (size_t first = 0; first < list.size(); ++first) {
    for (size_t second = first + 1; second < list.size(); ++second) {
      if (list[first].part == list[second].part) continue;
      // The list has V5 by kind of fault, the contract has it by tensor: the next test.
      if (list[first].row == 5 && list[second].row == 5) continue;
      Arguments arguments;
      list[second].apply(arguments);
      list[first].apply(arguments);
      ASSERT_TRUE(
          failed_in_phase1(run_phase1(arguments), kEmbeddingPhase1, list[first].code, list[first].sentence))
          << "V" << list[first].row << " " << list[first].part << " with V" << list[second].row << " "
          << list[second].part;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 200);
}

// Within V5 the tensors go in signature order, whatever is wrong with their extents.
TEST(EmbeddingPhase1, TheFirstTensorWithABadExtentDecides) {
  for (size_t first = 0; first < kEmbeddingTensors; ++first) {
    for (size_t second = first + 1; second < kEmbeddingTensors; ++second) {
      for (const auto& [one, other] : {std::pair(Shape(9, 1), Shape{-1}), {Shape{-1}, Shape(9, 1)}}) {
        Arguments arguments;
        arguments.tensors[first].dims = one;
        arguments.tensors[second].dims = other;
        EXPECT_TRUE(
            failed_in_phase1(run_phase1(arguments), kEmbeddingPhase1, kInvalid, {kEmbeddingNames[first]}));
      }
    }
  }
}

TEST(EmbeddingPhase1, RefusesHandlesOfOtherKinds) {
  for (size_t k = 0; k < kEmbeddingTensors; ++k) {
    for (const Arguments::Handle state : {Arguments::Handle::other_kind, Arguments::Handle::executor_bits}) {
      Arguments arguments;
      arguments.tensors[k].handle = state;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmbeddingPhase1, kInvalid,
                                   {kEmbeddingNames[k], "is not a live tensor"}));
    }
  }
}

TEST(EmbeddingPhase1, AcceptsExactlyTheListedDtypes) {
  int accepted_dtypes = 0;
  for (int value = -2; value <= 45; ++value) {
    const auto dtype = static_cast<aclDataType>(value);
    const bool accepted = std::any_of(std::begin(kEmbeddingDtypes), std::end(kEmbeddingDtypes),
                                      [&](const NamedDtype& type) { return type.dtype == dtype; });
    accepted_dtypes += accepted;
    Arguments table;
    table.tensors[kWeight].dtype = table.tensors[kOut].dtype = dtype;
    const Outcome outcome = run_phase1(table);
    if (accepted) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kEmbeddingPhase1, kInvalid, {"weight has dtype"}))
          << "dtype " << value;
    }
    Arguments indices;
    indices.tensors[kIndices].dtype = dtype;
    EXPECT_EQ(run_phase1(indices).phase1, dtype == ACL_INT32 || dtype == ACL_INT64 ? 0 : kInvalid)
        << "indices of dtype " << value;
    Arguments out;
    out.tensors[kOut].dtype = dtype;
    EXPECT_EQ(run_phase1(out).phase1, dtype == ACL_FLOAT ? 0 : kInvalid) << "out of dtype " << value;
  }
  EXPECT_EQ(accepted_dtypes, 12);
}

TEST(EmbeddingPhase1, AcceptsExactlyThePlainFormats) {
  for (int value = -2; value <= 60; ++value) {
    const int plain[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};
    const bool accepted = std::find(std::begin(plain), std::end(plain), value) != std::end(plain);
    for (size_t k = 0; k < kEmbeddingTensors; ++k) {
      Arguments arguments;
      arguments.tensors[k].format = static_cast<aclFormat>(value);
      EXPECT_EQ(run_phase1(arguments).phase1, accepted ? 0 : kInvalid)
          << "format " << value << " of " << kEmbeddingNames[k];
    }
  }
}

TEST(EmbeddingPhase1, RelatesTheShapes) {
  struct Shapes {
    Shape weight, indices, out;
    std::string sentence;  // empty: accepted
  };
  const Shape seven(7, 2), eight(8, 2);
  Shape wide = seven;
  wide.push_back(8);
  const Shapes all[] = {
      {{5, 8}, {}, {8}, ""},
      {{5, 8}, seven, wide, ""},
      {{0, 8}, {4}, {4, 8}, ""},
      {{5, 0}, {4}, {4, 0}, ""},
      {{5, 8}, {0}, {0, 8}, ""},
      {{}, {4}, {4, 8}, "weight has shape []; its rank must be 2"},
      {{8}, {4}, {4, 8}, "weight has shape [8]; its rank must be 2"},
      {{1, 5, 8}, {4}, {4, 8}, "weight has shape [1, 5, 8]; its rank must be 2"},
      {eight, {4}, {4, 2}, "its rank must be 2"},
      {{5, 8}, eight, eight, "out has shape [2, 2, 2, 2, 2, 2, 2, 2]; its rank must be 9"},
      {{5, 8}, {}, {}, "out has shape []; its rank must be 1"},
      {{5, 8}, {}, {1, 8}, "out has shape [1, 8]; its rank must be 1"},
      {{5, 8}, {4}, {4, 1, 8}, "out has shape [4, 1, 8]; its rank must be 2"},
      {{5, 8}, {4}, {8, 4}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {4}, {4, 5}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {4}, {4, 0}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {2, 3}, {3, 2, 8}, "weight's dim 1 = [2, 3, 8]"},
      {{5, 8}, {0}, {4, 8}, "weight's dim 1 = [0, 8]"},
  };
  for (const Shapes& shapes : all) {
    Arguments arguments;
    arguments.tensors[kWeight].dims = shapes.weight;
    arguments.tensors[kIndices].dims = shapes.indices;
    arguments.tensors[kOut].dims = shapes.out;
    const Outcome outcome = run_phase1(arguments);
    if (shapes.sentence.empty()) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kEmbeddingPhase1, kInvalid, {shapes.sentence}));
    }
  }
}

TEST(EmbeddingPhase1, RefusesExtentsThatLeaveInt64) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  struct Extent {
    Shape dims, strides;
    int64_t offset;
    const char* part;
  };
  const Extent extents[] = {{{-1}, {}, 0, "negative"},       {{4, -8}, {}, 0, "dim 1 is negative"},
                            {{0, -1}, {}, 0, "negative"},    {{kHuge}, {}, 0, "64-bit"},
                            {{kHuge, 4}, {}, 0, "64-bit"},   {{kHuge, kHuge}, {}, 0, "64-bit"},
                            {{2}, {kHuge}, 0, "64-bit"},     {{2}, {INT64_MIN}, 0, "64-bit"},
                            {{2}, {INT64_MAX}, 0, "64-bit"}, {{4}, {}, INT64_MAX, "64-bit"},
                            {{4}, {}, INT64_MIN, "64-bit"},  {{2, 2}, {kHuge / 4, -kHuge / 4}, 0, "64-bit"}};
  for (const Extent& extent : extents) {
    for (size_t k = 0; k < kEmbeddingTensors; ++k) {
      Arguments arguments;
      Arguments::Tensor& tensor = arguments.tensors[k];
      tensor.dims = extent.dims;
      tensor.strides = extent.strides;
      tensor.offset = extent.offset;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kEmbeddingPhase1, kInvalid,
                                   {kEmbeddingNames[k], extent.part}))
          << testing::PrintToString(extent.dims) << " of " << kEmbeddingNames[k];
    }
  }
}

TEST(EmbeddingPhase1, RefusesAnOutThatOverlapsItselfButNotInputs) {
  for (const Shape& strides :
       {Shape{0, 0}, Shape{1, 0}, Shape{1, 1}, Shape{7, 1}, Shape{1, 3}, Shape{-7, 1}, Shape{-1, -1}}) {
    Arguments inputs;
    inputs.tensors[kWeight].strides = strides;
    inputs.tensors[kIndices].strides = {strides[1]};
    EXPECT_EQ(run_phase1(inputs).phase1, 0) << testing::PrintToString(strides);
    Arguments out;
    out.tensors[kOut].strides = strides;
    EXPECT_TRUE(failed_in_phase1(run_phase1(out), kEmbeddingPhase1, kInvalid, {"out", "distinct"}))
        << testing::PrintToString(strides);
  }
  for (const Shape& strides :
       {Shape{8, 1}, Shape{1, 4}, Shape{-8, 1}, Shape{1, -4}, Shape{2, 8}, Shape{29, 4}}) {
    Arguments out;
    out.tensors[kOut].strides = strides;
    EXPECT_EQ(run_phase1(out).phase1, 0) << testing::PrintToString(strides);
  }
}

}  // namespace
}  // namespace openaclnn_test
