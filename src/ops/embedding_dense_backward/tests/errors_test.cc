// EmbeddingDenseBackward: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "ops/embedding_dense_backward/tests/schema.h"

namespace openaclnn_test {
namespace {

using namespace embedding_dense_backward_schema;

TEST(EmbeddingBackwardPhase1, EveryFaultHasItsCodeAndSentence) {
  expect_every_fault_is_found(backward_test());
  const Schema test = backward_test();
  EXPECT_GT(test.run(test.valid).workspace_bytes, 0u);
}
TEST(EmbeddingBackwardPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(backward_test()), 500);
}
TEST(EmbeddingBackwardPhase1, AcceptsExactlyTheListedDtypes) {
  expect_exactly_these_dtypes(backward_test(), {kGrad}, kTableDtypes);
  expect_exactly_these_dtypes(backward_test(), {kIndices}, kIndexDtypes);
  expect_exactly_these_dtypes(backward_test(), {kOut}, kTableDtypes);
}
TEST(EmbeddingBackwardPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(backward_test()); }
TEST(EmbeddingBackwardPhase1, AcceptsExactlyThePlainFormats) {
  expect_exactly_the_plain_formats(backward_test());
}
TEST(EmbeddingBackwardPhase1, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  expect_distinct_outputs(backward_test());
}

// V6: numWeights is compared as the unsigned number it is.
TEST(EmbeddingBackwardPhase1, NumWeightsMustBeTheHeightOfOut) {
  const auto refused = [](uint64_t value) {
    return "out has shape [5, 8]; it must be [numWeights, grad's last dim] = [" + std::to_string(value) +
           ", 8]";
  };
  expect_refused_numbers(backward_test(), kNumWeights,
                         {0, 4, 6, (int64_t{1} << 32) + 5, INT64_MIN + 5, -1, -5},
                         [&](int64_t value) { return refused(static_cast<uint64_t>(value)); });
  // A negative height of out equals no numWeights, not even the one with its bits.
  const Schema test = backward_test();
  CallArguments arguments = test.valid;
  arguments.numbers[kNumWeights] = -1;
  arguments.tensors[kOut].dims = {-1, 8};
  EXPECT_TRUE(failed_in_phase1(test.run(arguments), kBackwardPhase1, kInvalid, {"out", "negative"}));
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
  const Schema test = backward_test();
  for (const Shapes& shapes : all) {
    CallArguments arguments = test.valid;
    arguments.tensors[kGrad].dims = shapes.grad;
    arguments.tensors[kIndices].dims = shapes.indices;
    const Outcome outcome = test.run(arguments);
    if (shapes.accepted) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kBackwardPhase1, kInvalid, {"one index per row of grad"}))
          << "V6: " << testing::PrintToString(shapes.grad) << " with "
          << testing::PrintToString(shapes.indices);
    }
  }
}

// V12: with an empty table every padding row, count of indices (D = 0) and self-overlap is fine, and nothing is needed.
TEST(EmbeddingBackwardPhase1, EmptyTablesPass) {
  const Schema test = backward_test();
  for (const int64_t padding : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    CallArguments no_rows = test.valid;
    no_rows.numbers = {0, padding};
    no_rows.tensors[kOut].dims = {0, 8};
    no_rows.tensors[kOut].strides = {0, 0};
    const Outcome outcome = test.run(no_rows);
    EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
  CallArguments no_columns = test.valid;
  no_columns.tensors[kGrad].dims = {6, 0};
  no_columns.tensors[kOut].dims = {5, 0};
  const Outcome outcome = test.run(no_columns);
  EXPECT_EQ(outcome.phase1, 0) << outcome.error;
  EXPECT_EQ(outcome.workspace_bytes, 0u);
}

// V13: any number of indices can be described with stride 0, but not all have a workspace.
TEST(EmbeddingBackwardPhase1, RefusesAWorkspaceThatLeavesInt64) {
  const Schema test = backward_test();
  for (const int power : {40, 50, 57, 59, 60, 61}) {
    const int64_t positions = int64_t{1} << power;
    CallArguments arguments = test.valid;
    TensorArgument& grad = arguments.tensors[kGrad];
    grad.dtype = ACL_FLOAT16;
    grad.dims = {positions, 1};
    grad.strides = {0, 0};
    TensorArgument& indices = arguments.tensors[kIndices];
    indices.dtype = ACL_INT8;
    indices.dims = {positions};
    indices.strides = {0};
    const int64_t rows = int64_t{1} << 20;  // too many to be summed without a sort
    arguments.tensors[kOut].dims = {rows, 1};
    arguments.numbers[kNumWeights] = rows;
    const Outcome outcome = test.run(arguments);
    if (power <= 57) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      EXPECT_GT(outcome.workspace_bytes, static_cast<uint64_t>(positions) * 8);
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kBackwardPhase1, 561101,
                                   {"Failed to allocate", std::to_string(positions) + " indices"}));
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
