// Embedding: phase 1 refusals specific to this operator. support/phase1_refusals.h has the suite.
#include <gtest/gtest.h>

#include "ops/embedding/tests/call_cases.h"
#include "ops/embedding/tests/schema.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace embedding_schema;

std::vector<Trial> shape_trials() {
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
      {{5, 8}, eight, eight, "indices has rank 8; at most 7 is accepted, because out has one dim more"},
      {{5, 8}, {}, {}, "out has shape []; its rank must be 1"},
      {{5, 8}, {}, {1, 8}, "out has shape [1, 8]; its rank must be 1"},
      {{5, 8}, {4}, {4, 1, 8}, "out has shape [4, 1, 8]; its rank must be 2"},
      {{5, 8}, {4}, {8, 4}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {4}, {4, 5}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {4}, {4, 0}, "weight's dim 1 = [4, 8]"},
      {{5, 8}, {2, 3}, {3, 2, 8}, "weight's dim 1 = [2, 3, 8]"},
      {{5, 8}, {0}, {4, 8}, "weight's dim 1 = [0, 8]"},
  };
  std::vector<Trial> trials;
  for (const Shapes& shapes : all) {
    const auto change = with_dims({{kWeight, shapes.weight}, {kIndices, shapes.indices}, {kOut, shapes.out}});
    const std::string what = "shapes " + list_text(shapes.weight) + ", " + list_text(shapes.indices);
    if (!shapes.sentence.empty()) {
      trials.push_back(refuses(what, change, {shapes.sentence}));
    } else {
      trials.push_back(on_cpu() ? needs_nothing(what, change) : accepts(what, change));
    }
  }
  return trials;
}

std::vector<Refusals> refusals() {
  Refusals all = {
      .name = "Default", .schema = embedding_test(), .least_pairs = 500, .trials = shape_trials()};
  all.dtypes.push_back({{kOut}, {ACL_FLOAT}});
  return {all};
}
INSTANTIATE_TEST_SUITE_P(Embedding, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

}  // namespace
}  // namespace openaclnn_test
