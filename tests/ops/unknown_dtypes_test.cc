// Tests a dtype that the checks should have rejected: plan() rejects it, and no kernel computes with
// another type instead.
// Embedding, whose names are also those of another room, has its test in internals_test.cc.
#include <gtest/gtest.h>

#include "base/storage_types.h"
#include "ops/apply_adam_w/op.h"
#include "ops/apply_fused_ema_adam/op.h"
#include "ops/embedding_dense_backward/op.h"
#include "ops/grouped_bias_add_grad/op.h"
#include "ops/nsa/compress/op.h"
#include "ops/nsa/compress_grad/op.h"
#include "ops/nsa/compress_with_cache/op.h"
#include "support/unknown_dtype.h"

namespace openaclnn {
namespace {

using openaclnn_test::argument;

// No operator accepts it, except that Embedding copies its bytes.
constexpr aclDataType kWithoutKernel = ACL_COMPLEX64;

void expect_internal_error(const Result<Call>& planned, const std::string& name) {
  openaclnn_test::expect_refused_by_plan(planned, name, "ACL_COMPLEX64");
}

constexpr PlanContext kContext;
const Argument kFloat = argument("float", ACL_FLOAT), kIndex = argument("index", ACL_INT64);

TEST(UnknownDtypes, AreRefusedByEmbeddingDenseBackward) {
  const Argument bad = argument("bad", kWithoutKernel);
  expect_internal_error(plan(EmbeddingBackwardArgs{bad, kIndex, kFloat, 1, 1, false}, kContext), "bad");
  expect_internal_error(plan(EmbeddingBackwardArgs{kFloat, bad, kFloat, 1, 1, false}, kContext), "bad");
  expect_internal_error(plan(EmbeddingBackwardArgs{kFloat, kIndex, bad, 1, 1, false}, kContext), "bad");
}

TEST(UnknownDtypes, AreRefusedByGroupedBiasAddGrad) {
  const Argument bad = argument("bad", kWithoutKernel);
  expect_internal_error(plan(GroupedBiasArgs{bad, {}, 0, kFloat}, kContext), "bad");
  expect_internal_error(plan(GroupedBiasArgs{kFloat, bad, 0, kFloat}, kContext), "bad");
}

TEST(UnknownDtypes, AreRefusedByTheCompressions) {
  CompressionArgs compression = {};
  compression.tokens = argument("input", kWithoutKernel);
  expect_internal_error(plan(compression, {}, kContext), "input");
  CompressionGradArgs gradient = {};
  gradient.input_grad = argument("inputGrad", kWithoutKernel);
  expect_internal_error(plan(gradient, {}, kContext), "inputGrad");
  CacheCompressionArgs cache = {};
  cache.input = argument("input", kWithoutKernel);
  expect_internal_error(plan(cache, kContext), "input");
}

TEST(UnknownDtypes, AreRefusedByTheOptimizers) {
  EmaAdamArgs ema = {};
  ema.grad = argument("grad", kWithoutKernel);
  expect_internal_error(plan(ema, kContext), "grad");
  AdamWArgs adam_w = {};
  adam_w.version = AdamWVersion::second;
  adam_w.tensors[kAdamWVar] = adam_w.tensors[kAdamWM] = adam_w.tensors[kAdamWV] = kFloat;
  adam_w.tensors[kAdamWGrad] = argument("grad", kWithoutKernel);
  adam_w.step = kIndex;
  expect_internal_error(plan(adam_w, kContext), "grad");
  adam_w.tensors[kAdamWGrad] = kFloat;
  adam_w.step = argument("step", kWithoutKernel);
  expect_internal_error(plan(adam_w, kContext), "step");
}

// The result if a plan had one nevertheless.
TEST(UnknownDtypesDeathTest, EndTheProcessInsteadOfGivingWrongResults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto visit = [](auto) { return 0; };
  for (const aclDataType dtype : {ACL_DOUBLE, ACL_INT32, kWithoutKernel, ACL_DT_UNDEFINED})
    EXPECT_DEATH(with_float_type(dtype, visit), "internal error: a plan has a dtype that no kernel");
  for (const aclDataType dtype : {ACL_BF16, kWithoutKernel, ACL_DT_UNDEFINED})
    EXPECT_DEATH(with_index_type(dtype, [](auto) {}), "internal error: a plan has a dtype that no kernel");
}

TEST(KernelDtypes, AreAllVisited) {
  for (const aclDataType dtype : kFloatTypes) {
    EXPECT_TRUE(is_float_type(dtype));
    EXPECT_EQ(with_float_type(dtype, [](auto type) { return sizeof(type); }), dtype == ACL_FLOAT ? 4u : 2u);
  }
  for (const aclDataType dtype : kIndexTypes) with_index_type(dtype, [](auto) {});
  EXPECT_FALSE(is_float_type(ACL_DOUBLE));
}

}  // namespace
}  // namespace openaclnn
