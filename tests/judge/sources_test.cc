// The inputs that reports name for an element, and the terms of its sum, for every operator.
#include "judge/sources.h"

#include <gtest/gtest.h>

#include "judge/small_calls.h"

namespace openaclnn_judge {
namespace {

using openaclnn_test::array_of;
using openaclnn_test::bias_call;
using openaclnn_test::call_of;
using openaclnn_test::compress_call;
using openaclnn_test::ema_call;
using openaclnn_test::list_call;

using Lines = std::vector<std::string>;

openaclnn_verify::ElementSources sources_of(const Call& call, const std::string& parameter, int64_t element,
                                            size_t list_index = 0) {
  const PreparedCall prepared(call);
  return prepared.sources()({parameter, list_index, element});
}

double sum_of(const openaclnn_verify::ElementSources& sources) {
  double sum = 0;
  for (const openaclnn_verify::Term& term : sources.terms) sum += term.one * term.other;
  return sum / sources.divisor;
}

TEST(Sources, OfGroupedBiasAddGrad) {
  EXPECT_EQ(sources_of(bias_call(), "out", 3).lines,
            (Lines{"gradY[1:5, 1] = 4, 6, 8, 10", "groupIdxOptional[1] = 5: rows 1 to 5, end excluded"}));
  EXPECT_EQ(sum_of(sources_of(bias_call(), "out", 3)), 28);
  EXPECT_EQ(sources_of(bias_call(), "out", 0).lines[0], "gradY[0, 0] = 1");
  EXPECT_EQ(sources_of(bias_call(), "out", 5).lines[0], "gradY[5:5, 1] = (no values)");
  Call equal = call_of("aclnnGroupedBiasAddGrad");
  add_input(equal, "gradY", array_of(ACL_BF16, {2, 6, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(sources_of(equal, "out", 1).lines, (Lines{"gradY[1, 0:6, 0] = 7, 8, 9, 10, ... (6 values)"}));
  EXPECT_EQ(sum_of(sources_of(equal, "out", 1)), 57);
}

TEST(Sources, OfEmbedding) {
  Call call = call_of("aclnnEmbedding");
  add_input(call, "weight", array_of(ACL_FLOAT16, {3, 2}, {.5, 1, 1.5, 2, 2.5, 3}));
  add_input(call, "indices", array_of(ACL_INT32, {2, 2}, {0, 2, 1, 2}));
  EXPECT_EQ(sources_of(call, "out", 3).lines, (Lines{"indices[0, 1] = 2", "weight[2, 1] = 3"}));
  Call scalar = call_of("aclnnEmbedding");
  add_input(scalar, "weight", array_of(ACL_FLOAT, {2, 1}, {7, 9}));
  add_input(scalar, "indices", array_of(ACL_INT64, {}, {1}));
  EXPECT_EQ(sources_of(scalar, "out", 0).lines, (Lines{"indices[] = 1", "weight[1, 0] = 9"}));
}

TEST(Sources, OfEmbeddingDenseBackward) {
  Call call = call_of("aclnnEmbeddingDenseBackward");
  add_input(call, "grad", array_of(ACL_FLOAT, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  add_input(call, "indices", array_of(ACL_INT64, {4}, {1, 0, 1, 2}));
  call.values.integers["numWeights"] = {4};
  call.values.integers["paddingIdx"] = {2};
  call.values.integers["scaleGradByFreq"] = {1};
  EXPECT_EQ(sources_of(call, "out", 3).lines,
            (Lines{"positions of index 1 = 0, 2", "grad[these positions, 1] = 2, 6"}));
  EXPECT_EQ(sum_of(sources_of(call, "out", 3)), 4);
  for (const int64_t element : {4, 6}) {  // padding, and a row without any index
    EXPECT_TRUE(sources_of(call, "out", element).is_sum);
    EXPECT_EQ(sum_of(sources_of(call, "out", element)), 0);
  }
}

TEST(Sources, OfNsaCompress) {
  const auto sources = sources_of(compress_call(), "output", 3);
  EXPECT_EQ(sources.lines, (Lines{"input[2:5, 0, 1] = 6, 8, 10", "weight[0:3, 0] = 1, 10, 100"}));
  EXPECT_EQ(sum_of(sources), 1086);
}

TEST(Sources, OfNsaCompressGrad) {
  Call call = call_of("aclnnNsaCompressGrad");
  add_input(call, "outputGrad", array_of(ACL_FLOAT, {2, 1, 2}, {1, 2, 3, 4}));
  add_input(call, "input", array_of(ACL_FLOAT, {6, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  add_input(call, "weight", array_of(ACL_FLOAT, {3, 1}, {1, 10, 100}));
  call.values.integers["compressBlockSize"] = {3};
  call.values.integers["compressStride"] = {2};
  const auto token = sources_of(call, "inputGradOut", 5);  // token 2 is in both windows
  EXPECT_EQ(token.lines, (Lines{"outputGrad[0:2, 0, 1] = 2, 4", "weight[token - start, 0] = 100, 1"}));
  EXPECT_EQ(sum_of(token), 204);
  EXPECT_EQ(sources_of(call, "inputGradOut", 11).lines, Lines{"token 5 is in no window"});
  const auto weight = sources_of(call, "weightGradOut", 1);
  EXPECT_EQ(weight.lines, (Lines{"outputGrad[0:2, 0, 0:2] = 1, 2, 3, 4",
                                 "input[1, 0, 0:2], and token 1 of the other windows"}));
  EXPECT_EQ(sum_of(weight), 1 * 3 + 2 * 4 + 3 * 7 + 4 * 8);
}

TEST(Sources, OfNsaCompressWithCache) {
  Call call = call_of("aclnnNsaCompressWithCache");
  add_input(call, "input", array_of(ACL_FLOAT, {5, 1, 1}, {1, 2, 3, 4, 5}));
  add_input(call, "weight", array_of(ACL_FLOAT, {2, 1}, {1, 10}));
  add_input(call, "slotMapping", array_of(ACL_INT32, {2}, {2, 0}));
  add_input(call, "outputCache", array_of(ACL_FLOAT, {3, 1, 1}, {-1, -2, -3}));
  call.values.integers["actSeqLenOptional"] = {2, 3};
  call.values.integers["compressBlockSize"] = {2};
  call.values.integers["compressStride"] = {1};
  EXPECT_EQ(sources_of(call, "outputCache", 0).lines,
            (Lines{"slotMapping[1] = 0", "input, tokens 1:3 of sequence 1, [0, 0] = 4, 5",
                   "weight[0:2, 0] = 1, 10"}));
  EXPECT_EQ(sum_of(sources_of(call, "outputCache", 0)), 54);
  EXPECT_EQ(sources_of(call, "outputCache", 1).lines, Lines{"outputCache[1, 0, 0] before the call = -2"});
}

TEST(Sources, OfOptimizers) {
  EXPECT_EQ(sources_of(ema_call(), "varRef", 2).lines,
            (Lines{"grad[1, 0] = 0.25", "varRef[1, 0] = 0.25", "mRef[1, 0] = 0.25", "vRef[1, 0] = 0.25",
                   "sRef[1, 0] = 0.25", "step = 3"}));
  EXPECT_EQ(sources_of(list_call(), "varRefs", 0, 1).lines,
            (Lines{"grads[1][] = 4", "varRefs[1][] = 4", "mRefs[1][] = 4", "vRefs[1][] = 4", "sRefs[1][] = 4",
                   "step = 3", "gradScaleOptional = 2"}));
  Call second = call_of("aclnnApplyAdamWV2");
  for (const char* const name : {"varRef", "mRef", "vRef", "grad"})
    add_input(second, name, array_of(ACL_FLOAT, {2}, {1, 2}));
  add_input(second, "step", array_of(ACL_FLOAT, {1}, {4}));
  EXPECT_EQ(sources_of(second, "mRef", 1).lines,
            (Lines{"grad[1] = 2", "varRef[1] = 2", "mRef[1] = 2", "vRef[1] = 2", "step = 4"}));
  Call first = call_of("aclnnApplyAdamW");
  for (const char* const name : {"varRef", "mRef", "vRef"})
    add_input(first, name, array_of(ACL_FLOAT, {2}, {1, 2}));
  for (const char* const name : {"beta1Power", "beta2Power", "lr", "weightDecay", "beta1", "beta2", "eps"})
    add_input(first, name, array_of(ACL_FLOAT, {1}, {.5}));
  add_input(first, "grad", array_of(ACL_FLOAT, {2}, {1, 2}));
  EXPECT_EQ(sources_of(first, "varRef", 0).lines,
            (Lines{"grad[0] = 1", "varRef[0] = 1", "mRef[0] = 1", "vRef[0] = 1", "beta1Power = 0.5",
                   "beta2Power = 0.5"}));
}

}  // namespace
}  // namespace openaclnn_judge
