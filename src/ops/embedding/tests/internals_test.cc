// Embedding: plan() with a dtype that the checks should have rejected.
#include <gtest/gtest.h>

#include "ops/embedding/op.h"
#include "support/unknown_dtype.h"

namespace openaclnn {
namespace {

using openaclnn_test::argument;

TEST(EmbeddingPlan, RefusesIndicesWithoutAKernel) {
  const Argument weight = argument("weight", ACL_FLOAT), out = argument("out", ACL_FLOAT);
  EXPECT_TRUE(plan({weight, argument("indices", ACL_INT32), out}, PlanContext()).ok());
  openaclnn_test::expect_refused_by_plan(plan({weight, argument("indices", ACL_INT16), out}, PlanContext()),
                                         "indices", "ACL_INT16");
}

}  // namespace
}  // namespace openaclnn
