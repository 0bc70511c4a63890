// NsaCompressGrad: test vectors computed by hand, the prescribed bits of the tokens' gradient and the error
// bound of the weights' gradient, for windows of all kinds.
#include <gtest/gtest.h>

#include "ops/nsa/compress_grad/verify/cases.h"
#include "ops/nsa/tests/windows_calls.h"

namespace openaclnn_test {
namespace {

CaseCall call_of(aclDataType dtype, const Shape& input_dims, const WindowAttributes& windows) {
  return CaseCall(compress_grad_case(dtype, input_dims, windows, Layout::contiguous, "test"));
}

std::vector<uint64_t> expected_input_grad(const WindowAttributes& windows, const CaseCall& call) {
  std::vector<uint64_t> bits;
  for_each_input_grad(windows, call.tensors(), [&](int64_t, const std::vector<WeightedTerm>& terms) {
    bits.push_back(prescribed_input_grad(call[kCgInput].dtype(), terms));
  });
  return bits;
}

testing::AssertionResult weights_within_bound(const CaseCall& call) {
  Judge judge;
  call.description().judge(call.tensors(), call.tensors(), judge);
  if (judge.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << judge.messages();
}

void run_and_compare(const WindowAttributes& windows, CaseCall& call) {
  ASSERT_TRUE(call.run_cleanly());
  ASSERT_TRUE(call.has_bits(kCgInputGrad, expected_input_grad(windows, call)));
  ASSERT_TRUE(weights_within_bound(call));
}

std::vector<double> numbers(const HostTensor& tensor) {
  std::vector<double> all;
  for (int64_t i = 0; i < tensor.numel(); ++i) all.push_back(tensor.get(i));
  return all;
}

TEST(NsaCompressGradVectors, EveryFormOfTheLengths) {
  for (const WindowAttributes& form : forms_of_five_and_four()) {
    CaseCall call = call_of(ACL_FLOAT16, {9, 1, 2}, form);
    for (int64_t i = 0; i < 18; ++i) call[kCgInput].set(i, static_cast<double>(i));
    call[kCgWeight].fill({1, 2, 3});
    call[kCgOutputGrad].fill({1, 2, 3, 4, 5, 6});
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(kCgWeightGrad, {0x58b0, 0x5a00, 0x5b50}));
    EXPECT_EQ(numbers(call[kCgInputGrad]),
              (std::vector<double>{1, 2, 2, 4, 6, 10, 6, 8, 9, 12, 5, 6, 10, 12, 15, 18, 0, 0}));
  }
}

// The number of windows that cover each token: with weights and gradients of 1 it is the gradient of the
// token.
TEST(NsaCompressGradVectors, WhichTokensAreCovered) {
  struct Stretch {
    int64_t end;  // one past the last token
    double windows;
  };
  const std::vector<Stretch> all[] = {{{16, 1}, {80, 2}, {112, 1}, {176, 2}, {192, 1}, {200, 0}},
                                      {{7, 0}, {23, 1}, {39, 2}, {55, 1}, {60, 0}},
                                      {{7, 0}, {23, 1}, {39, 2}, {55, 1}, {60, 0}},
                                      {{12, 0}, {28, 1}, {40, 0}}};
  size_t at = 0;
  for (const auto& [windows, tokens] : known_windows()) {
    const std::vector<Stretch>& covered = all[at++];
    CaseCall call = call_of(ACL_BF16, {tokens, 1, 1}, windows);
    for (const CompressGradTensor which : {kCgOutputGrad, kCgInput, kCgWeight}) call[which].fill({1});
    EXPECT_TRUE(call.run_cleanly());
    size_t stretch = 0;
    for (int64_t t = 0; t < tokens; ++t) {
      while (t == covered[stretch].end) ++stretch;
      EXPECT_EQ(call[kCgInputGrad].get(t), covered[stretch].windows) << "token " << t;
    }
  }
}

TEST(NsaCompressGradVectors, TheAscendingOrderDecides) {
  CaseCall call = call_of(ACL_BF16, {10, 1, 1}, {6, 2, {10}, 0});
  for (int64_t t = 0; t < 10; ++t) call[kCgInput].set(t, 1 + static_cast<double>(t) / 8);
  call[kCgWeight].fill({1});
  call[kCgOutputGrad].fill({0x1p-12, 65536, -65536});
  ASSERT_TRUE(call.run_cleanly());
  EXPECT_TRUE(call.has_bits(kCgInputGrad, {0x3980, 0x3980, 0x4780, 0x4780, 0, 0, 0, 0, 0xc780, 0xc780}));
}

TEST(NsaCompressGradVectors, TiesAndTwoHeads) {
  CaseCall ties = call_of(ACL_FLOAT16, {3, 1, 1}, {2, 1, {3}, 0});
  ties[kCgInput].fill({2048, 1, 2050});
  ties[kCgWeight].fill({1});
  ties[kCgOutputGrad].fill({2048, 1});
  ASSERT_TRUE(ties.run_cleanly());
  EXPECT_TRUE(ties.has_bits(kCgInputGrad, {0x6800, 0x6800, 0x3c00}));
  EXPECT_TRUE(ties.has_bits(kCgWeightGrad, {0x7c00, 0x6c00}));

  CaseCall heads = call_of(ACL_FLOAT, {4, 2, 1}, {2, 1, {4}, 0});
  heads[kCgInput].fill({1, 0, 2, -1, 3, -2, 4, -3});
  heads[kCgWeight].fill({1, -1, 2, .5});
  heads[kCgOutputGrad].fill({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(heads.run_cleanly());
  EXPECT_EQ(numbers(heads[kCgInputGrad]), (std::vector<double>{1, -2, 5, -3, 11, -4, 10, 3}));
  EXPECT_EQ(numbers(heads[kCgWeightGrad]), (std::vector<double>{22, -16, 31, -28}));
}

TEST(NsaCompressGradValues, EverySize) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t columns : {1, 2, 3, 15, 16, 17, 31, 33, 255, 256, 257, 520}) {
      const WindowAttributes windows = {5, 3, {21}, 0};
      CaseCall call = call_of(dtype, {21, 3, columns}, windows);
      SCOPED_TRACE(columns);
      ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
    }
    // 1 to 9 windows cover a token; then adjacent windows, and windows that leave tokens out.
    for (const int64_t stride :
         std::initializer_list<int64_t>{1, 2, 3, 4, 5, 8, 9, 10, 40, int64_t{1} << 62}) {
      const WindowAttributes windows = {9, stride, {50, 8, 9, 33}, 1};
      CaseCall call = call_of(dtype, {103, 2, 19}, windows);
      SCOPED_TRACE(stride);
      ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
    }
  }
}

TEST(NsaCompressGradValues, RandomSequences) { try_random_sequences(120, call_of, run_and_compare); }

TEST(NsaCompressGradBatches, HaveTheBitsOfTheirLengths) {
  expect_bits_of_lengths(call_of, run_and_compare, {kCgInputGrad, kCgWeightGrad});
}

// Many more terms than one path of 256 fp32 additions may hold: fp32 alone would round the sum of equal terms
// away.
TEST(NsaCompressGradValues, LongSumsOfWeightGradStayExact) {
  const int64_t tokens = 1 << 13;
  const WindowAttributes windows = {1, 1, {tokens}, 0};
  CaseCall call = call_of(ACL_FLOAT, {tokens, 1, 512}, windows);
  call[kCgInput].fill({1});
  call[kCgOutputGrad].fill({1 + 0x1p-20});
  call[kCgWeight].fill({1});
  ASSERT_TRUE(call.run_cleanly());
  EXPECT_EQ(call[kCgWeightGrad].get(0), std::ldexp(1 + 0x1p-20, 13 + 9));
}

// A head of many columns, of which a GPU's thread processes every 1,024th in FLOAT. These have the products 1 and
// many that are just more than half of its ulp, so each fp32 addition to 1 would round up.
TEST(NsaCompressGradValues, WeightGradOfLongHeadsIsWithinItsBound) {
  constexpr int64_t kColumns = 300'000;
  CaseCall call = call_of(ACL_FLOAT, {1, 1, kColumns}, {1, 1, {1}, 0});
  for (const CompressGradTensor which : {kCgInput, kCgWeight}) call[which].fill({0});
  call[kCgOutputGrad].fill({1});
  for (int64_t e = 0; e < kColumns; e += 1024) call[kCgInput].set(e, e == 0 ? 1 : 0x1p-24 + 0x1p-40);
  ASSERT_TRUE(call.run_cleanly());
  EXPECT_TRUE(weights_within_bound(call));
}

// One element of a window is infinite, and half of its weights are zeros: their products are NaN with the sign bit
// of the processor. All other results are numbers.
TEST(NsaCompressGradValues, NanOfOneElementIsCanonical) {
  constexpr int64_t kTokens = 12, kHeads = 3;
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const int64_t columns : {64, 50, 300}) {
      for (const int64_t block : {2, 4, 8, 10}) {  // one to five windows over a token
        for (const int64_t at : {int64_t{0}, 2 * columns - 1, kHeads * columns / 2}) {
          const WindowAttributes windows = {block, 2, {kTokens}, 0};
          CaseCall call = call_of(dtype, {kTokens, kHeads, columns}, windows);
          call[kCgInput].fill({1, 2, 3});
          call[kCgOutputGrad].fill({1, -2, 0.5});
          call[kCgWeight].fill({0, 1});
          call[kCgOutputGrad].set(at, std::numeric_limits<double>::infinity());
          ASSERT_TRUE(call.run_cleanly());
          ASSERT_TRUE(call.has_bits(kCgInputGrad, expected_input_grad(windows, call)))
              << "element " << at << " of rows of " << columns << ", windows of " << block;
        }
      }
    }
  }
}

// The same in a result larger than the caches, which non-temporal stores write.
TEST(NsaCompressGradValues, NanOfALargeResultIsCanonical) {
  constexpr int64_t kTokens = (int64_t{1} << 15) + 64, kColumns = 256;
  CaseCall call = call_of(ACL_FLOAT, {kTokens, 1, kColumns}, {2, 1, {kTokens}, 0});
  for (const CompressGradTensor which : {kCgInput, kCgWeight, kCgOutputGrad}) call[which].fill({0});
  call[kCgOutputGrad].set(100 * kColumns + 5, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(call.run_cleanly());
  std::vector<uint64_t> expected(static_cast<size_t>(kTokens * kColumns));
  for (const int64_t token : {100, 101}) expected[static_cast<size_t>(token * kColumns + 5)] = 0x7fc00000;
  EXPECT_TRUE(call.has_bits(kCgInputGrad, expected));
}

TEST(NsaCompressGradEmpty, WithoutWindowsBothGradientsAreZero) {
  const auto no_windows = [](int64_t block_size) { return WindowAttributes{block_size, 2, {7, 7, 0}, 1}; };
  const WindowAttributes one_sequence = {4, 1, {}, 0, false};
  for (const auto& [input_dims, windows] : {std::pair(Shape{14, 2, 3}, no_windows(8)),
                                            {Shape{14, 2, 3}, no_windows(15)},
                                            {Shape{0, 2, 3}, one_sequence},
                                            {Shape{14, 2, 0}, one_sequence},
                                            {Shape{14, 0, 3}, one_sequence}}) {
    for (const Layout layout : {Layout::contiguous, Layout::mixed}) {
      CaseCall call(compress_grad_case(ACL_FLOAT16, input_dims, windows, layout, "test"));
      for (const CompressGradTensor which : {kCgOutputGrad, kCgInput, kCgWeight}) {
        for (int64_t i = 0; i < call[which].numel(); ++i) call[which].set(i, std::nan(""));
      }
      ASSERT_TRUE(call.run_cleanly());
      EXPECT_EQ(call.run().workspace_bytes, 0u);
      for (const CompressGradTensor which : {kCgInputGrad, kCgWeightGrad}) {
        EXPECT_TRUE(call.has_bits(which, std::vector<uint64_t>(static_cast<size_t>(call[which].numel()))));
      }
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
