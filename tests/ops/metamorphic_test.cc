// Tests the relations between calls, each with random sizes, as many times as fit into a test.
#include "ops/relations.h"

namespace openaclnn_test {
namespace {

constexpr int kRounds = 60;

void check(std::span<const Relation> relations) {
  for (const Relation& relation : relations) {
    SCOPED_TRACE(std::string(relation.name) + ", " + seed_text());
    Random random(test_seed());
    RandomDraw draw(random);
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      const Comparisons before = comparisons();
      relation.check(draw, random);
      EXPECT_GT(comparisons().elements, before.elements) << "round " << round << " compared nothing";
    }
  }
}

TEST(Metamorphic, ExactRelations) { check(exact_relations()); }
TEST(Metamorphic, Optimizers) { check(optimizer_relations()); }
TEST(Metamorphic, Adjoints) { check(adjoint_relations()); }

}  // namespace
}  // namespace openaclnn_test
