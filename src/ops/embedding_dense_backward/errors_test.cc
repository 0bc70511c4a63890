// EmbeddingDenseBackward: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "ops/embedding_dense_backward/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kNull = 161001;
constexpr int kInvalid = 161002;

// Everything phase 1 gets, open to one spoiled part or several: 4 rows of 8 columns into a table of 5 rows.
struct Arguments {
  enum class Handle { live, null, stale, foreign_bits, other_kind };
  struct Tensor {
    Handle handle = Handle::live;
    aclDataType dtype = ACL_FLOAT;
    Shape dims;
    Shape strides;  // empty: NULL
    int64_t offset = 0;
    aclFormat format = ACL_FORMAT_ND;
  };
  std::array<Tensor, kBackwardTensors> tensors;
  BackwardAttributes attributes = {.table_rows = 5};
  bool has_workspace_pointer = true;
  bool has_executor_pointer = true;

  Arguments() {
    tensors[kGrad].dims = {4, 8};
    tensors[kIndices].dims = {4};
    tensors[kIndices].dtype = ACL_INT64;
    tensors[kOut].dims = {5, 8};
  }
};

// The memory is never touched: phase 1 fails, or the executor is destroyed.
Outcome run_phase1(const Arguments& arguments) {
  using Handle = Arguments::Handle;
  std::vector<Descriptor> owned;
  std::array<aclTensor*, kBackwardTensors> handles;
  aclIntArray* const other_kind = aclCreateIntArray(nullptr, 0);
  for (size_t k = 0; k < kBackwardTensors; ++k) {
    const Arguments::Tensor& t = arguments.tensors[k];
    aclTensor* const made =
        aclCreateTensor(t.dims.data(), t.dims.size(), t.dtype, t.strides.empty() ? nullptr : t.strides.data(),
                        t.offset, t.format, t.dims.data(), t.dims.size(), nullptr);
    handles[k] = made;
    if (t.handle == Handle::live) {
      owned.emplace_back(made);
      continue;
    }
    aclDestroyTensor(made);
    if (t.handle == Handle::null) handles[k] = nullptr;
    if (t.handle == Handle::other_kind) handles[k] = reinterpret_cast<aclTensor*>(other_kind);
    if (t.handle == Handle::foreign_bits)
      handles[k] = reinterpret_cast<aclTensor*>(uintptr_t{0x123456789ABCDEF0});
  }
  take_error_text();

  constexpr uint64_t kSentinel = 0x0123456789ABCDEF;
  uint64_t workspace_bytes = kSentinel;
  aclOpExecutor* const sentinel = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x5A5A5A5A});
  aclOpExecutor* executor = sentinel;
  Outcome outcome;
  outcome.phase1 = backward_phase1(arguments.attributes)(
      handles, arguments.has_workspace_pointer ? &workspace_bytes : nullptr,
      arguments.has_executor_pointer ? &executor : nullptr);
  outcome.error = take_error_text();
  outcome.out_values_untouched = workspace_bytes == kSentinel && executor == sentinel;
  outcome.workspace_bytes = workspace_bytes;
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
  const auto each = [&](const auto& make) {
    for (size_t k = 0; k < kBackwardTensors; ++k) make(k, std::string(kBackwardNames[k]));
  };
  const auto dims = [&](int row, BackwardTensor k, const Shape& shape, std::vector<std::string> sentence) {
    add(row, std::string(kBackwardNames[k]) + " dims", kInvalid, std::move(sentence),
        [k, shape](Arguments& a) { a.tensors[k].dims = shape; });
  };
  const auto handle = [&](int row, int code, const std::string& sentence, Arguments::Handle state) {
    each([&](size_t k, const std::string& name) {
      add(row, name + " handle", code, {name, sentence},
          [k, state](Arguments& a) { a.tensors[k].handle = state; });
    });
  };
  add(1, "workspaceSize", kNull, {"workspaceSize is NULL"},
      [](Arguments& a) { a.has_workspace_pointer = false; });
  add(1, "executor", kNull, {"executor is NULL"}, [](Arguments& a) { a.has_executor_pointer = false; });
  handle(2, kNull, "is NULL", Arguments::Handle::null);
  handle(3, kInvalid, "is not a live tensor", Arguments::Handle::stale);

  each([&](size_t k, const std::string& name) {
    const std::string accepted =
        k == kIndices
            ? "ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64 or "
              "ACL_BOOL"
            : "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";
    add(4, name + " dtype", kInvalid, {name + " has dtype ACL_UINT32", accepted},
        [k](Arguments& a) { a.tensors[k].dtype = ACL_UINT32; });
  });
  each([&](size_t k, const std::string& name) {
    add(5, name + " dims", kInvalid, {name, "rank 9", "8"},
        [k](Arguments& a) { a.tensors[k].dims = Shape(9, 1); });
  });
  dims(6, kGrad, {}, {"grad has shape []", "rank must be at least 1"});
  dims(6, kIndices, {3, 1},
       {"indices has shape [3, 1], 3 elements", "grad has shape [4, 8], 4 rows", "one index"});
  dims(6, kOut, {5, 8, 1}, {"out has shape [5, 8, 1]", "rank must be 2"});
  dims(6, kOut, {40}, {"out has shape [40]", "rank must be 2"});
  dims(6, kOut, {5, 9}, {"out has shape [5, 9]", "[numWeights, grad's last dim]"});
  dims(6, kOut, {4, 8}, {"out has shape [4, 8]", "[numWeights, grad's last dim]"});
  add(6, "numWeights", kInvalid, {"out has shape [5, 8]", "[numWeights, grad's last dim] = [6, 8]"},
      [](Arguments& a) { a.attributes.table_rows = 6; });
  each([&](size_t k, const std::string& name) {
    add(8, name + " format", kInvalid, {name, "format 29", "ND"},
        [k](Arguments& a) { a.tensors[k].format = ACL_FORMAT_FRACTAL_NZ; });
  });
  add(9, "out dims", kInvalid, {"out has shape [5, 8]", "strides [0, 1]", "distinct"}, [](Arguments& a) {
    a.tensors[kOut].strides = {0, 1};
  });
  return list;
}

TEST(EmbeddingBackwardPhase1, AcceptsWhatTheFaultsStartFrom) {
  const Outcome outcome = run_phase1(Arguments());
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_GT(outcome.workspace_bytes, 0u);
}

TEST(EmbeddingBackwardPhase1, EveryFaultHasItsCodeAndSentence) {
  for (const Fault& fault : faults()) {
    Arguments arguments;
    fault.apply(arguments);
    EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kBackwardPhase1, fault.code, fault.sentence))
        << "V" << fault.row << " " << fault.part;
  }
}

TEST(EmbeddingBackwardPhase1, TheFirstOfTwoFaultsDecides) {
  const std::vector<Fault> list = faults();
  int pairs = 0;
  for (size_t first = 0; first < list.size(); ++first) {
    for (size_t second = first + 1; second < list.size(); ++second) {
      if (list[first].part == list[second].part) continue;
      Arguments arguments;
      list[second].apply(arguments);
      list[first].apply(arguments);
      ASSERT_TRUE(
          failed_in_phase1(run_phase1(arguments), kBackwardPhase1, list[first].code, list[first].sentence))
          << "V" << list[first].row << " " << list[first].part << " with V" << list[second].row << " "
          << list[second].part;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 200);
}

TEST(EmbeddingBackwardPhase1, RefusesHandlesOfOtherKinds) {
  for (size_t k = 0; k < kBackwardTensors; ++k) {
    for (const Arguments::Handle state : {Arguments::Handle::other_kind, Arguments::Handle::foreign_bits}) {
      Arguments arguments;
      arguments.tensors[k].handle = state;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kBackwardPhase1, kInvalid,
                                   {kBackwardNames[k], "is not a live tensor"}));
    }
  }
}

TEST(EmbeddingBackwardPhase1, AcceptsExactlyTheListedDtypes) {
  const auto holds = [](const auto& list, int value) {
    return std::find(std::begin(list), std::end(list), static_cast<aclDataType>(value)) != std::end(list);
  };
  for (int value = -2; value <= 45; ++value) {
    for (size_t k = 0; k < kBackwardTensors; ++k) {
      Arguments arguments;
      arguments.tensors[k].dtype = static_cast<aclDataType>(value);
      const Outcome outcome = run_phase1(arguments);
      if (k == kIndices ? holds(kIndexDtypes, value) : holds(kTableDtypes, value)) {
        EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      } else {
        EXPECT_TRUE(failed_in_phase1(outcome, kBackwardPhase1, kInvalid,
                                     {std::string(kBackwardNames[k]) + " has dtype", "it must be"}))
            << "dtype " << value;
      }
    }
  }
}

TEST(EmbeddingBackwardPhase1, AcceptsExactlyThePlainFormats) {
  for (int value = -2; value <= 60; ++value) {
    const int plain[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};
    const bool accepted = std::find(std::begin(plain), std::end(plain), value) != std::end(plain);
    for (size_t k = 0; k < kBackwardTensors; ++k) {
      Arguments arguments;
      arguments.tensors[k].format = static_cast<aclFormat>(value);
      EXPECT_EQ(run_phase1(arguments).phase1, accepted ? 0 : kInvalid)
          << "format " << value << " of " << kBackwardNames[k];
    }
  }
}

TEST(EmbeddingBackwardPhase1, RefusesExtentsThatLeaveInt64) {
  const int64_t huge = int64_t{1} << 62;
  struct Extent {
    Shape dims, strides;
    int64_t offset;
    const char* part;
  };
  const Extent extents[] = {{{-1}, {}, 0, "negative"},       {{4, -8}, {}, 0, "dim 1 is negative"},
                            {{0, -1}, {}, 0, "negative"},    {{huge, 4}, {}, 0, "64-bit"},
                            {{huge, huge}, {}, 0, "64-bit"}, {{2}, {huge}, 0, "64-bit"},
                            {{2}, {INT64_MIN}, 0, "64-bit"}, {{4}, {}, INT64_MAX, "64-bit"},
                            {{4}, {}, INT64_MIN, "64-bit"},  {{2, 2}, {huge / 4, -huge / 4}, 0, "64-bit"}};
  for (const Extent& extent : extents) {
    for (size_t k = 0; k < kBackwardTensors; ++k) {
      Arguments arguments;
      Arguments::Tensor& tensor = arguments.tensors[k];
      tensor.dims = extent.dims;
      tensor.strides = extent.strides;
      tensor.offset = extent.offset;
      EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kBackwardPhase1, kInvalid,
                                   {kBackwardNames[k], extent.part}))
          << testing::PrintToString(extent.dims) << testing::PrintToString(extent.strides) << " of "
          << kBackwardNames[k];
    }
  }
}

// numWeights is compared as the unsigned number it is.
TEST(EmbeddingBackwardPhase1, NumWeightsMustBeTheHeightOfOut) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{4}, uint64_t{6}, (uint64_t{1} << 32) + 5,
                               uint64_t{1} << 63, (uint64_t{1} << 63) + 5, UINT64_MAX, UINT64_MAX - 4}) {
    Arguments arguments;
    arguments.attributes.table_rows = static_cast<int64_t>(value);
    EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kBackwardPhase1, kInvalid,
                                 {"out has shape [5, 8]", "= [" + std::to_string(value) + ", 8]"}));
  }
  // A negative height of out equals no numWeights, not even the one with its bits.
  Arguments arguments;
  arguments.attributes.table_rows = -1;
  arguments.tensors[kOut].dims = {-1, 8};
  EXPECT_TRUE(failed_in_phase1(run_phase1(arguments), kBackwardPhase1, kInvalid, {"out", "negative"}));
}

TEST(EmbeddingBackwardPhase1, OneIndexPerRowOfGrad) {
  struct Shapes {
    Shape grad, indices;
    bool accepted;
  };
  const int64_t huge = int64_t{1} << 62;
  const Shapes all[] = {{{6, 8}, {2, 3}, true},    {{2, 3, 8}, {6}, true},    {{8}, {}, true},
                        {{8}, {1, 1}, true},       {{1, 8}, {}, true},        {{6, 8}, {2, 2}, false},
                        {{6, 8}, {}, false},       {{6, 8}, {0}, false},      {{8}, {0}, false},
                        {{8}, {8}, false},         {{0, 8}, {}, false},       {{0, 8}, {0}, true},
                        {{0, 8}, {3, 0, 5}, true}, {{huge, 0, 8}, {0}, true}, {{huge, huge, 0, 8}, {0}, true},
                        {{0, 8}, {1}, false},      {{2, 0, 8}, {2}, false}};
  for (const Shapes& shapes : all) {
    Arguments arguments;
    arguments.tensors[kGrad].dims = shapes.grad;
    arguments.tensors[kIndices].dims = shapes.indices;
    EXPECT_EQ(run_phase1(arguments).phase1, shapes.accepted ? 0 : kInvalid)
        << testing::PrintToString(shapes.grad) << " with " << testing::PrintToString(shapes.indices);
  }
}

TEST(EmbeddingBackwardPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  for (const Shape& strides :
       {Shape{0, 0}, Shape{1, 0}, Shape{1, 1}, Shape{7, 1}, Shape{1, 4}, Shape{-7, 1}}) {
    for (const size_t k : {kGrad, kOut}) {
      Arguments arguments;
      arguments.tensors[k].strides = strides;
      EXPECT_EQ(run_phase1(arguments).phase1, k == kOut ? kInvalid : 0) << testing::PrintToString(strides);
    }
  }
  for (const Shape& strides :
       {Shape{8, 1}, Shape{1, 5}, Shape{-8, 1}, Shape{1, -5}, Shape{16, 2}, Shape{29, 3}}) {
    Arguments arguments;
    arguments.tensors[kOut].strides = strides;
    EXPECT_EQ(run_phase1(arguments).phase1, 0) << testing::PrintToString(strides);
  }
  Arguments expanded;
  expanded.tensors[kIndices].strides = {0};
  EXPECT_EQ(run_phase1(expanded).phase1, 0);
}

// V12: with an empty table every padding row, count of indices (D = 0) and self-overlap is fine, and nothing is needed.
TEST(EmbeddingBackwardPhase1, EmptyTablesPass) {
  for (const int64_t padding : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    Arguments no_rows;
    no_rows.attributes = {.table_rows = 0, .padding_row = padding};
    no_rows.tensors[kOut].dims = {0, 8};
    no_rows.tensors[kOut].strides = {0, 0};
    const Outcome outcome = run_phase1(no_rows);
    EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
  Arguments no_columns;
  no_columns.tensors[kGrad].dims = {6, 0};
  no_columns.tensors[kOut].dims = {5, 0};
  const Outcome outcome = run_phase1(no_columns);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_EQ(outcome.workspace_bytes, 0u);
}

// V13: any number of indices can be described with stride 0, but not all have a workspace.
TEST(EmbeddingBackwardPhase1, RefusesAWorkspaceThatLeavesInt64) {
  for (const int power : {40, 50, 57, 59, 60, 61}) {
    const int64_t positions = int64_t{1} << power;
    Arguments arguments;
    arguments.tensors[kGrad] = {.dtype = ACL_FLOAT16, .dims = {positions, 1}, .strides = {0, 0}};
    arguments.tensors[kIndices] = {.dtype = ACL_INT8, .dims = {positions}, .strides = {0}};
    arguments.tensors[kOut].dims = {5, 1};
    const Outcome outcome = run_phase1(arguments);
    if (power <= 57) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      EXPECT_GT(outcome.workspace_bytes, static_cast<uint64_t>(positions) * 8);
    } else if (power >= 59) {
      EXPECT_TRUE(failed_in_phase1(outcome, kBackwardPhase1, 561101,
                                   {"Failed to allocate", std::to_string(positions) + " indices"}));
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
