// EmbeddingDenseBackward: phase 1 refusals specific to this operator. support/phase1_refusals.h has the
// suite.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "ops/embedding_dense_backward/tests/schema.h"
#include "support/expect.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace embedding_dense_backward_schema;

// numWeights is compared as an unsigned number.
std::vector<Trial> height_trials() {
  std::vector<Trial> trials;
  for (const int64_t value : {int64_t{0}, int64_t{4}, int64_t{6}, (int64_t{1} << 32) + 5, INT64_MIN + 5,
                              int64_t{-1}, int64_t{-5}, INT64_MIN, INT64_MAX}) {
    const std::string as_unsigned = std::to_string(static_cast<uint64_t>(value));
    trials.push_back(refuses(
        "numWeights " + as_unsigned, [value](CallArguments& a) { a.numbers[kNumWeights] = value; },
        {"out has shape [5, 8]; it must be [numWeights, grad's last dim] = [" + as_unsigned + ", 8]"}));
  }
  // A negative height of out equals no numWeights, not even the one with the same bits.
  trials.push_back(refuses("out of -1 rows",
                           [](CallArguments& a) {
                             a.numbers[kNumWeights] = -1;
                             a.tensors[kOut].dims = {-1, 8};
                           },
                           {"out", "negative"}));
  return trials;
}

std::vector<Trial> one_index_per_row() {
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
  std::vector<Trial> trials;
  for (const Shapes& shapes : all) {
    const std::string what = "grad " + list_text(shapes.grad) + ", indices " + list_text(shapes.indices);
    const auto change = with_dims({{kGrad, shapes.grad}, {kIndices, shapes.indices}});
    trials.push_back(shapes.accepted ? accepts(what, change)
                                     : refuses(what, change, {"one index per row of grad"}));
  }
  return trials;
}

// With an empty table any padding row, index count (D = 0) and self-overlap is accepted.
std::vector<Trial> empty_tables() {
  std::vector<Trial> trials;
  for (const int64_t padding : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    trials.push_back(needs_nothing("no rows", [padding](CallArguments& a) {
      a.numbers = {0, padding};
      a.tensors[kOut].dims = {0, 8};
      a.tensors[kOut].strides = {0, 0};
    }));
  }
  trials.push_back(needs_nothing("no columns", with_dims({{kGrad, {6, 0}}, {kOut, {5, 0}}})));
  return trials;
}

std::vector<Refusals> refusals() {
  Refusals all = {.name = "Default", .schema = backward_test(), .least_pairs = 500, .needs_workspace = true};
  for (const auto& trials : {height_trials, one_index_per_row, empty_tables}) append(all.trials, trials());
  return {all};
}
INSTANTIATE_TEST_SUITE_P(EmbeddingBackward, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

// Stride 0 can describe any number of indices, but some have no workspace.
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
    const int64_t rows = int64_t{1} << 20;  // too many to sum without a sort
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
