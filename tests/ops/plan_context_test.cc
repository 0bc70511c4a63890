// Tests that checks and plans depend only on their arguments and their PlanContext: one process plans for
// each platform, mode and limit.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/env.h"
#include "ops/apply_fused_ema_adam/op.h"
#include "ops/embedding_dense_backward/op.h"
#include "ops/nsa/compress/op.h"
#include "support/argument.h"

namespace openaclnn {
namespace {

using openaclnn_test::argument;

TEST(PlanContext, OfThisProcessHasItsSettings) {
  const PlanContext context = plan_context();
  EXPECT_EQ(context.platform, platform_kind());
  EXPECT_EQ(context.check, environment().check);
  EXPECT_EQ(context.vendor_limits, environment().vendor_limits);
}

TEST(PlanContext, DecidesForWhichPlatformTheWorkspaceIs) {
  const EmbeddingBackwardArgs args = {argument("grad", ACL_FLOAT, {100, 8}),
                                      argument("indices", ACL_INT32, {100}),
                                      argument("out", ACL_FLOAT, {50, 8}),
                                      50,
                                      50,
                                      false};
  const auto plan_for = [&](PlatformKind platform) {
    Result<Call> call = plan(args, PlanContext{.platform = platform});
    EXPECT_TRUE(call.ok());
    return *static_cast<const EmbeddingBackwardPlan*>(call->plan.get());
  };
  const EmbeddingBackwardPlan cpu = plan_for(PlatformKind::cpu), gpu = plan_for(PlatformKind::cuda);
  EXPECT_GT(cpu.scratch.blocks, 0);
  EXPECT_EQ(cpu.gpu_scratch.faults, 0);
  EXPECT_EQ(gpu.scratch.blocks, 0);
  EXPECT_GT(gpu.gpu_scratch.faults, 0);
}

TEST(PlanContext, DecidesWhetherLimitsCount) {
  EmaAdamArgs args = {};
  args.grad = argument("grad", ACL_FLOAT, {});
  args.var = args.m = args.v = args.s = args.grad;
  args.step = argument("step", ACL_INT64, {1});
  EXPECT_TRUE(check(args, PlanContext{}).ok());
  const Status refused = check(args, PlanContext{.vendor_limits = true});
  EXPECT_NE(refused.sentence().find("grad has rank 0; with OPENACLNN_LIMITS=vendor"), std::string::npos)
      << refused.sentence();
}

TEST(PlanContext, DecidesWhetherEveryTokenMustBeInASequence) {
  CompressionArgs args = {};
  args.tokens = argument("input", ACL_FLOAT, {40, 1, 1});
  args.compressed = argument("output", ACL_FLOAT, {2, 1, 1});
  args.lengths = {"actSeqLenOptional", std::make_shared<const Array<int64_t>>(Array<int64_t>{32})};
  args.block_size = args.stride = 16;
  for (const CheckMode lenient : {CheckMode::report, CheckMode::silent})
    EXPECT_TRUE(find_sequences(args, PlanContext{.check = lenient}).ok());
  const auto refused = find_sequences(args, PlanContext{.check = CheckMode::strict});
  EXPECT_NE(
      refused.status().sentence().find("OPENACLNN_CHECK=strict requires every token to be in a sequence"),
      std::string::npos)
      << refused.status().sentence();
}

}  // namespace
}  // namespace openaclnn
