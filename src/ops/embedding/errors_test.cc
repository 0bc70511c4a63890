// Embedding: every refusal of phase 1, with its code, its sentence and its place in the order of checks.
#include <gtest/gtest.h>

#include "ops/embedding/call_cases.h"
#include "support/phase1_faults.h"

namespace openaclnn_test {
namespace {

// 4 rows of 8 columns from a table of 5 rows.
Phase1Test embedding_test() {
  Phase1Test test;
  test.function = kEmbeddingPhase1;
  test.valid.tensors = {{.name = kEmbeddingNames[kWeight], .dims = {5, 8}},
                        {.name = kEmbeddingNames[kIndices], .dtype = ACL_INT64, .dims = {4}},
                        {.name = kEmbeddingNames[kOut], .role = Role::output, .dims = {4, 8}}};
  test.phase1 = [](const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return embedding_phase1(call.tensors, workspace_bytes, executor);
  };
  test.faults = {
      // Lists first, the relation after them.
      bad_dtype("weight: its twelve dtypes", kWeight, ACL_UINT16,
                {"weight has dtype ACL_UINT16",
                 "ACL_DOUBLE, ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT64, ACL_INT32, ACL_INT16, ACL_INT8, "
                 "ACL_UINT8, ACL_BOOL, ACL_COMPLEX64 or ACL_COMPLEX128"}),
      bad_dtype("indices INT32 or INT64", kIndices, ACL_INT16,
                {"indices has dtype ACL_INT16; it must be ACL_INT32 or ACL_INT64"}),
      bad_dtype("out = weight", kOut, ACL_FLOAT16,
                {"out has dtype ACL_FLOAT16 but weight has dtype ACL_FLOAT; they must be equal"}),
      bad_dims("weight rank 2", kWeight, {5, 8, 1}, {"weight has shape [5, 8, 1]; its rank must be 2"}),
      bad_dims("weight rank 2", kWeight, {40}, {"weight has shape [40]; its rank must be 2"}),
      bad_dims("out rank = indices rank + 1", kOut, {32}, {"out has shape [32]; its rank must be 2"}),
      bad_dims("out rank = indices rank + 1", kOut, {4, 8, 1}, {"out has shape [4, 8, 1]", "must be 2"}),
      bad_dims("out dims = indices, D", kOut, {4, 9},
               {"out has shape [4, 9]; it must be the shape of indices", "= [4, 8]"}),
      bad_dims("out dims = indices, D", kOut, {5, 8},
               {"out has shape [5, 8]; it must be the shape of indices", "= [4, 8]"}),
  };
  return test;
}

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
  const Phase1Test test = embedding_test();
  for (const Shapes& shapes : all) {
    CallArguments arguments = test.valid;
    arguments.tensors[kWeight].dims = shapes.weight;
    arguments.tensors[kIndices].dims = shapes.indices;
    arguments.tensors[kOut].dims = shapes.out;
    const Outcome outcome = test.run(arguments);
    if (shapes.sentence.empty()) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      EXPECT_EQ(outcome.workspace_bytes, 0u);
    } else {
      EXPECT_TRUE(failed_in_phase1(outcome, kEmbeddingPhase1, kInvalid, {shapes.sentence})) << "V6";
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
