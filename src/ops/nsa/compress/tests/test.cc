// NsaCompress: test vectors computed by hand, and the bits of the prescribed order for windows of all kinds.
#include <gtest/gtest.h>

#include "ops/nsa/compress/verify/cases.h"
#include "ops/nsa/tests/windows_calls.h"

namespace openaclnn_test {
namespace {

CaseCall call_of(aclDataType dtype, const Shape& input_dims, const WindowAttributes& windows) {
  return CaseCall(compress_case(dtype, input_dims, windows, Layout::contiguous, "test"));
}

std::vector<uint64_t> expected(const WindowAttributes& windows, const CaseCall& call) {
  std::vector<uint64_t> bits;
  for_each_compressed(windows, call[kCompressInput], call[kCompressWeight],
                      [&](int64_t, const std::vector<WeightedTerm>& terms) {
                        bits.push_back(prescribed_compressed(call[kCompressOutput].dtype(), terms));
                      });
  return bits;
}

void run_and_compare(const WindowAttributes& windows, CaseCall& call) {
  ASSERT_TRUE(call.run_cleanly());
  ASSERT_TRUE(call.has_bits(kCompressOutput, expected(windows, call)));
}

TEST(NsaCompressVectors, EveryFormOfTheLengths) {
  for (const WindowAttributes& form : forms_of_five_and_four()) {
    CaseCall call = call_of(ACL_FLOAT16, {9, 1, 2}, form);
    for (int64_t i = 0; i < 18; ++i) call[kCompressInput].set(i, static_cast<double>(i));
    call[kCompressWeight].fill({1, 2, 3});
    ASSERT_EQ(window_starts(form, 9), (std::vector<int64_t>{0, 2, 5}));
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(kCompressOutput, {0x4c00, 0x4d80, 0x5100, 0x51c0, 0x54c0, 0x5520}));
  }
}

TEST(NsaCompressVectors, WhereTheWindowsAre) {
  const std::vector<int64_t> starts[] = {{0, 16, 32, 48, 64, 96, 112, 128, 144, 160}, {7, 23}, {7, 23}, {12}};
  size_t at = 0;
  for (const auto& [windows, tokens] : known_windows()) {
    EXPECT_EQ(window_starts(windows, tokens), starts[at++]);
    CaseCall call = call_of(ACL_FLOAT, {tokens, 2, 3}, windows);
    ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
  }
}

TEST(NsaCompressVectors, OrderTiesAndTwoHeads) {
  CaseCall order = call_of(ACL_BF16, {10, 1, 1}, {6, 2, {10}, 0});
  for (int64_t t = 0; t < 10; ++t) order[kCompressInput].set(t, 1 + static_cast<double>(t) / 8);
  order[kCompressWeight].fill({1});
  ASSERT_TRUE(order.run_cleanly());
  EXPECT_TRUE(order.has_bits(kCompressOutput, {0x40fc, 0x4116, 0x412e}));

  CaseCall ties = call_of(ACL_FLOAT16, {3, 1, 1}, {2, 1, {3}, 0});
  ties[kCompressInput].fill({2048, 1, 2050});
  ties[kCompressWeight].fill({1});
  ASSERT_TRUE(ties.run_cleanly());
  EXPECT_TRUE(ties.has_bits(kCompressOutput, {0x6800, 0x6802}));

  CaseCall heads = call_of(ACL_FLOAT, {4, 2, 1}, {2, 1, {4}, 0});
  heads[kCompressInput].fill({1, 0, 2, -1, 3, -2, 4, -3});
  heads[kCompressWeight].fill({1, -1, 2, .5});
  ASSERT_TRUE(heads.run_cleanly());
  const double wanted[] = {5, -.5, 8, 0, 11, .5};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(heads[kCompressOutput].get(i), wanted[i]);
}

TEST(NsaCompressValues, EverySizeHasThePrescribedBits) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t columns : {1, 2, 3, 7, 8, 9, 16, 17, 33, 170, 511, 512, 513, 1025}) {
      const int64_t heads = columns < 200 ? 7 : 2;
      const WindowAttributes windows = {5, 3, {21}, 0};
      CaseCall call = call_of(dtype, {21, heads, columns}, windows);
      SCOPED_TRACE(columns);
      ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
    }
    for (const int64_t block : {1, 2, 8, 63, 64, 65, 511, 512, 513, 1537}) {
      const WindowAttributes windows = {block, block / 2 + 1, {3 * block + 5}, 1};
      CaseCall call = call_of(dtype, {3 * block + 5, 2, 5}, windows);
      SCOPED_TRACE(block);
      ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
    }
  }
}

// Distant tokens may be added together if tokens are narrow and each sequence has hundreds of windows.
TEST(NsaCompressValues, HundredsOfWindowsHaveThePrescribedBits) {
  struct Shapes {
    int64_t block, stride, windows, heads, columns;
  };
  for (const Shapes& shape : {Shapes{16, 16, 530, 1, 16},
                              {24, 10, 300, 3, 40},
                              {4, 9, 400, 2, 70},
                              {128, 64, 300, 1, 33},
                              {600, 300, 140, 2, 17},
                              {7, 3, 270, 4, 64},
                              {4, 2, 131, 9, 100},
                              {4, 2, 131, 10, 100}}) {
    const int64_t length = (shape.windows - 1) * shape.stride + shape.block;
    const WindowAttributes windows = {shape.block, shape.stride, {length + 1, 5, length}, 1};
    for (const aclDataType dtype : kFloatDtypes) {
      CaseCall call = call_of(dtype, {2 * length + 6, shape.heads, shape.columns}, windows);
      SCOPED_TRACE(testing::Message() << "windows of " << shape.block << " every " << shape.stride);
      ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
    }
  }
}

// The stride of a dim of size 1 doesn't matter, and the kernel must not form an address with it.
TEST(NsaCompressValues, TheStrideOfASingleHeadMayBeAnything) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t tokens : {40, 500}) {
      const WindowAttributes windows = {4, 2, {tokens}, 1};
      CaseCall call = call_of(dtype, {tokens, 1, 16}, windows);
      const HostTensor packed = call[kCompressInput];  // shares its memory
      for (const int64_t stride : {int64_t{1} << 61, -(int64_t{1} << 61)}) {
        call.replace(kCompressInput,
                     HostTensor(dtype, {tokens, 1, 16}, View{{16, stride, 1}, 0}, packed, packed.data()));
        SCOPED_TRACE(stride);
        ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
      }
    }
  }
}

// A fused sum of such products is +0 or -0, and adding it to a superblock makes it +0.
TEST(NsaCompressValues, ProductsThatUnderflowGivePlusZero) {
  for (const aclDataType dtype : kUnderflowDtypes) {
    for (const int64_t columns : {5, 40}) {
      for (const int64_t block : {1, 8, 64, 65, 600}) {
        const WindowAttributes windows = {block, block / 2 + 1, {3 * block + 5}, 1};
        CaseCall call(with_underflow(
            compress_case(dtype, {3 * block + 5, 2, columns}, windows, Layout::contiguous, "test"), -90));
        SCOPED_TRACE(block);
        ASSERT_NO_FATAL_FAILURE(run_and_compare(windows, call));
        const std::vector<uint64_t> zeros(static_cast<size_t>(call[kCompressOutput].numel()), 0);
        ASSERT_TRUE(call.has_bits(kCompressOutput, zeros));
      }
    }
  }
}

TEST(NsaCompressValues, RandomSequencesHaveThePrescribedBits) {
  try_random_sequences(300, call_of, run_and_compare);
}

TEST(NsaCompressEmpty, WithoutWindowsThereIsNothingToDo) {
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{7, 7, 0}, {0, 0}, {1, 2, 3}}) {
    CaseCall call = call_of(ACL_BF16, {14, 2, 3}, {8, 2, lengths, 1});
    const Outcome outcome = call.run();
    EXPECT_TRUE(succeeded(outcome));
    EXPECT_EQ(outcome.workspace_bytes, 0u);
  }
  CaseCall no_tokens = call_of(ACL_FLOAT, {0, 2, 3}, {1, 1, {}, 0, false});
  EXPECT_TRUE(no_tokens.run_cleanly());
}

TEST(NsaCompressBatches, HaveTheBitsOfTheirLengths) {
  expect_bits_of_lengths(call_of, run_and_compare, {kCompressOutput});
}

// 12 tokens fit three windows of four tokens at distance 3, and also three batches of 4. The fewest batches
// count.
TEST(NsaCompressBatches, OfSeveralThatFitTheFewestCount) {
  const WindowAttributes three_of_four = {4, 3, {4, 4, 4}, 1};
  CaseCall given = call_of(ACL_FLOAT, {12, 1, 1}, three_of_four);
  CaseCall deduced = call_of(ACL_FLOAT, {12, 1, 1}, WindowAttributes::without_lengths(4, 3));
  ASSERT_EQ(given[kCompressOutput].dims(), deduced[kCompressOutput].dims());
  for (int64_t t = 0; t < 12; ++t) {
    given[kCompressInput].set(t, static_cast<double>(t));
    deduced[kCompressInput].set(t, static_cast<double>(t));
  }
  given[kCompressWeight].fill({1, 0, 0, 0});
  deduced[kCompressWeight].fill({1, 0, 0, 0});
  ASSERT_TRUE(given.run_cleanly() && deduced.run_cleanly());
  for (int64_t j = 0; j < 3; ++j) {
    EXPECT_EQ(given[kCompressOutput].get(j), static_cast<double>(4 * j));
    EXPECT_EQ(deduced[kCompressOutput].get(j), static_cast<double>(3 * j));
  }
}

// An empty array is equivalent to NULL.
TEST(NsaCompressEmpty, AnEmptyArrayIsLikeNull) {
  const auto null = WindowAttributes::without_lengths(4, 2, 2);
  CaseCall first = call_of(ACL_FLOAT, {20, 2, 3}, null);
  ASSERT_TRUE(first.run_cleanly());
  Case with_array = first.description();
  with_array.phase1 = [](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    aclIntArray* const empty = aclCreateIntArray(nullptr, 0);
    const aclnnStatus status =
        aclnnNsaCompressGetWorkspaceSize(t[kCompressInput], t[kCompressWeight], empty, nullptr, 4, 2, 0,
                                         t[kCompressOutput], workspace_bytes, executor);
    aclDestroyIntArray(empty);
    return status;
  };
  CaseCall second(with_array);
  ASSERT_TRUE(second.run_cleanly());
  EXPECT_TRUE(second.has_bits(kCompressOutput, first[kCompressOutput].all_bits()));
}

}  // namespace
}  // namespace openaclnn_test
