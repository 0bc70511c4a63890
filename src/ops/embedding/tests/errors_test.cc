// Embedding: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/embedding/tests/call_cases.h"
#include "ops/embedding/tests/schema.h"

namespace openaclnn_test {
namespace {

using namespace embedding_schema;

TEST(EmbeddingPhase1, EveryFaultHasItsCodeAndSentence) { expect_every_fault_is_found(embedding_test()); }
TEST(EmbeddingPhase1, TheFirstOfTwoFaultsDecides) {
  EXPECT_GT(expect_first_of_two_faults_decides(embedding_test()), 500);
}
TEST(EmbeddingPhase1, AcceptsExactlyTheListedDtypes) {
  std::vector<aclDataType> table_dtypes;
  for (const NamedDtype& type : kEmbeddingDtypes) table_dtypes.push_back(type.dtype);
  const aclDataType of_weight[] = {ACL_FLOAT};
  expect_exactly_these_dtypes(embedding_test(), {kWeight, kOut}, table_dtypes);
  expect_exactly_these_dtypes(embedding_test(), {kIndices}, kIndexDtypes);
  expect_exactly_these_dtypes(embedding_test(), {kOut}, of_weight);
}
TEST(EmbeddingPhase1, RefusesExtentsThatLeaveInt64) { expect_extents_within_int64(embedding_test()); }
TEST(EmbeddingPhase1, AcceptsExactlyThePlainFormats) { expect_exactly_the_plain_formats(embedding_test()); }
TEST(EmbeddingPhase1, RefusesAnOutThatOverlapsItselfButNotInputs) {
  expect_distinct_outputs(embedding_test());
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
  const Schema test = embedding_test();
  for (const Shapes& shapes : all) {
    CallArguments arguments = test.valid;
    arguments.tensors[kWeight].dims = shapes.weight;
    arguments.tensors[kIndices].dims = shapes.indices;
    arguments.tensors[kOut].dims = shapes.out;
    const Outcome outcome = test.run(arguments);
    if (shapes.sentence.empty()) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      EXPECT_TRUE(!on_cpu() || outcome.workspace_bytes == 0);
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kEmbeddingPhase1, kInvalid, {shapes.sentence})) << "V6";
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
