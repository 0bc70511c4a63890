// GroupedBiasAddGrad: test vectors computed by hand, and the bits of the prescribed order for groups and rows
// of all sizes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "ops/grouped_bias_add_grad/verify/cases.h"
#include "support/case_call.h"
#include "support/order_of_additions.h"
#include "support/verify.h"

namespace openaclnn_test {
namespace {

constexpr BiasAttributes kEnds = {.grouped = true, .index_type = 0};
constexpr BiasAttributes kSizes = {.grouped = true, .index_type = 1};
constexpr BiasAttributes kEqual = {.grouped = false, .index_type = 0};

CaseCall call_of(aclDataType dtype, const BiasAttributes& attributes, const BiasShape& shape,
                 aclDataType index_dtype = ACL_INT64, Layout layout = Layout::contiguous) {
  return CaseCall(bias_case(dtype, index_dtype, attributes, shape, layout, "test"));
}

// The prescribed bits of out.
std::vector<uint64_t> expected(const BiasAttributes& attributes, const CaseCall& call) {
  const HostTensor& out = call[bias_out(attributes)];
  std::vector<uint64_t> bits;
  std::vector<float> terms;
  for (const BiasGroup& group : bias_groups(attributes, call.tensors())) {
    for (int64_t column = 0; column < out.dims()[1]; ++column) {
      bias_terms(call[kBiasGradY], group, column, out.dims()[1], terms);
      bits.push_back(encode(out.dtype(), static_cast<double>(prescribed_sum(terms))));
    }
  }
  return bits;
}

std::vector<uint64_t> values(aclDataType dtype, std::initializer_list<double> numbers) {
  std::vector<uint64_t> bits;
  for (const double number : numbers) bits.push_back(encode(dtype, number));
  return bits;
}

// One group of rows of one column.
CaseCall column_of(aclDataType dtype, const std::vector<double>& rows) {
  CaseCall call = call_of(dtype, kEnds, {{static_cast<int64_t>(rows.size())}, 1});
  call[kBiasGradY].fill(rows);
  return call;
}

TEST(GroupedBiasVectors, EndsAndSizes) {
  const auto fill = [](CaseCall& call) {
    for (int64_t i = 0; i < 12; ++i) {
      call[kBiasGradY].set(2 * i, static_cast<double>(i + 1));
      call[kBiasGradY].set(2 * i + 1, -static_cast<double>(i + 1) / 2);
    }
  };
  CaseCall ends = call_of(ACL_FLOAT, kEnds, {{2, 0, 5, 5}, 2});
  fill(ends);
  ASSERT_TRUE(ends.run_cleanly());
  EXPECT_TRUE(ends.has_bits(2, values(ACL_FLOAT, {3, -1.5, 0, 0, 25, -12.5, 50, -25})));
  CaseCall sizes = call_of(ACL_FLOAT, kSizes, {{2, 2, 7, 1}, 2});
  fill(sizes);
  ASSERT_TRUE(sizes.run_cleanly());
  EXPECT_TRUE(sizes.has_bits(2, values(ACL_FLOAT, {3, -1.5, 7, -3.5, 56, -28, 12, -6})));
}

TEST(GroupedBiasVectors, EmptyGroupsAndRowsLeft) {
  for (const aclDataType dtype : kFloatDtypes) {
    CaseCall call = call_of(dtype, kEnds, {{0, 3, 0, 1}, 1});
    call[kBiasGradY].fill({1, 2, 4, 8});
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(2, values(dtype, {0, 7, 0, 8})));
    CaseCall left = call_of(dtype, kEnds, {{0, 2}, 1, 2});
    left[kBiasGradY].fill({1, 2, 4, 8});
    ASSERT_TRUE(left.run_cleanly());
    EXPECT_TRUE(left.has_bits(2, values(dtype, {0, 3})));
  }
}

TEST(GroupedBiasVectors, EqualGroups) {
  CaseCall call = call_of(ACL_FLOAT, kEqual, {{3, 3}, 1});
  call[kBiasGradY].fill({1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(call.run_cleanly());
  EXPECT_TRUE(call.has_bits(1, {0x40c00000, 0x41700000}));
}

TEST(GroupedBiasVectors, OrderOfAdditions) {
  for (const OrderedSum& sum : kOrderedSums) {
    std::vector<double> rows;
    for (int64_t i = 0; i < sum.terms; ++i) rows.push_back(order_term(i));
    for (size_t d = 0; d < std::size(kFloatDtypes); ++d) {
      CaseCall call = column_of(kFloatDtypes[d], rows);
      ASSERT_TRUE(call.run_cleanly());
      EXPECT_TRUE(call.has_bits(2, {sum.bits[d]})) << sum.terms << " rows of dtype " << kFloatDtypes[d];
    }
  }
}

TEST(GroupedBiasVectors, TiesAndSpecialValues) {
  struct Column {
    aclDataType dtype;
    std::vector<double> rows;
    uint64_t bits;
  };
  const Column columns[] = {{ACL_FLOAT16, {2048, 1}, 0x6800},
                            {ACL_FLOAT16, {2050, 1}, 0x6802},
                            {ACL_FLOAT16, {-2050, -1}, 0xe802},
                            {ACL_FLOAT16, {65504, 16}, 0x7c00},
                            {ACL_FLOAT16, {65504, 8}, 0x7bff},
                            {ACL_FLOAT16, {0x1p-24, 0x1p-24}, 0x0002},
                            {ACL_BF16, {256, 1}, 0x4380},
                            {ACL_BF16, {258, 1}, 0x4382},
                            {ACL_BF16, {-258, -1}, 0xc382},
                            {ACL_BF16, {256, 1, 0x1p-14}, 0x4381},
                            {ACL_FLOAT, {-0.0}, 0x00000000},
                            {ACL_BF16, {-0.0, -0.0}, 0x0000},
                            {ACL_FLOAT, {3e38, 3e38, -3e38}, 0x7f800000}};
  for (const Column& column : columns) {
    CaseCall call = column_of(column.dtype, column.rows);
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(2, {column.bits})) << testing::PrintToString(column.rows);
  }
  // Every NaN becomes the canonical one.
  const std::pair<aclDataType, std::array<uint64_t, 2>> nans[] = {
      {ACL_FLOAT, {0xffc12345, 0x7fc00000}}, {ACL_FLOAT16, {0xfe12, 0x7e00}}, {ACL_BF16, {0xffc1, 0x7fc0}}};
  for (const auto& [dtype, bits] : nans) {
    CaseCall call = column_of(dtype, {1, 2});
    call[kBiasGradY].set_bits(1, bits[0]);
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(2, {bits[1]}));
  }
}

// Sizes around every boundary of the order of additions, of vectors and of tiles of columns.
TEST(GroupedBiasValues, EverySizeHasThePrescribedBits) {
  const std::vector<int64_t> all = {0,   1,   2,   7,   8,   9,   63, 64,   65,   0,   127,
                                    129, 300, 450, 511, 512, 513, 0,  1024, 1025, 1537};
  const std::vector<int64_t> few = {0, 1, 8, 9, 65, 450, 513};
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t columns : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1025}) {
      const std::vector<int64_t>& sizes = columns < 100 ? all : few;  // the reference is slow
      CaseCall call = call_of(dtype, columns % 2 == 0 ? kEnds : kSizes, {sizes, columns, columns % 3},
                              columns % 4 < 2 ? ACL_INT32 : ACL_INT64);
      ASSERT_TRUE(call.run_cleanly());
      ASSERT_TRUE(call.has_bits(2, expected(kEnds.index_type == columns % 2 ? kEnds : kSizes, call)))
          << "dtype " << dtype << ", " << columns << " columns";
    }
    for (const int64_t rows : {1, 8, 9, 64, 511, 512, 513, 1600}) {
      CaseCall call = call_of(dtype, kEqual, {std::vector<int64_t>(5, rows), 37});
      ASSERT_TRUE(call.run_cleanly());
      ASSERT_TRUE(call.has_bits(1, expected(kEqual, call)))
          << "dtype " << dtype << ", " << rows << " rows each";
    }
  }
}

// Subnormals, infinities and NaNs follow from the stated operations, and no operation is skipped.
TEST(GroupedBiasValues, SpecialValuesFollowTheOrder) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    const FloatFormat& format = *float_format(dtype);
    const double smallest = std::ldexp(1.0, format.min_exponent - format.precision + 1);
    const double largest = std::ldexp(1.5, format.max_exponent);
    const double inf = std::numeric_limits<double>::infinity();
    const double specials[] = {0.0,     -0.0,     smallest, -smallest, 3 * smallest,
                               largest, -largest, inf,      -inf,      std::nan("")};
    for (int repeat = 0; repeat < 20; ++repeat) {
      CaseCall call = call_of(dtype, kSizes, {{3, 20, 1, 0, 70, 600}, 19});
      for (int64_t i = 0; i < call[kBiasGradY].numel(); ++i) {
        if (random.chance(repeat % 2 == 0 ? 3 : 200))
          call[kBiasGradY].set(i, specials[random.below(std::size(specials))]);
      }
      ASSERT_TRUE(call.run_cleanly());
      ASSERT_TRUE(call.has_bits(2, expected(kSizes, call))) << "dtype " << dtype;
    }
  }
}

// Random numbers of groups of random sizes, so that the stretches of threads end anywhere.
TEST(GroupedBiasValues, RandomGroupsHaveThePrescribedBits) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed() + 1);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const aclDataType dtype = kFloatDtypes[random.below(3)];
    const BiasAttributes& attributes = random.chance(2) ? kEnds : kSizes;
    std::vector<int64_t> sizes;
    const int64_t groups = random.between(1, 60);
    const int64_t most = int64_t{1} << random.below(12);
    for (int64_t j = 0; j < groups; ++j) sizes.push_back(random.chance(3) ? 0 : random.below(most));
    if (random.chance(4)) sizes[static_cast<size_t>(random.below(groups))] = 3000;
    sizes.push_back(1);
    CaseCall call = call_of(dtype, attributes, {sizes, random.between(1, 90), random.below(3)});
    ASSERT_TRUE(call.run_cleanly());
    ASSERT_TRUE(call.has_bits(2, expected(attributes, call))) << "round " << repeat;
  }
}

TEST(GroupedBiasValues, ManyEmptyGroups) {
  for (const BiasAttributes& attributes : {kEnds, kSizes}) {
    std::vector<int64_t> sizes(200000, 0);
    for (const size_t j : {size_t{0}, size_t{77777}, size_t{199998}}) sizes[j] = 600;
    CaseCall call = call_of(ACL_BF16, attributes, {sizes, 5});
    ASSERT_TRUE(call.run_cleanly());
    ASSERT_TRUE(call.has_bits(2, expected(attributes, call)));
  }
}

// The first version of the interface uses ends, and has no groupIdxType.
TEST(GroupedBiasFirstVersion, DoesTheSame) {
  for (const BiasAttributes& attributes : {kEnds, kEqual}) {
    CaseCall second = call_of(ACL_FLOAT, attributes, {{520, 520, 520}, 33});
    ASSERT_TRUE(second.run_cleanly());
    Case first = second.description();
    first.phase1 = [attributes](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
      return aclnnGroupedBiasAddGradGetWorkspaceSize(t[kBiasGradY],
                                                     attributes.grouped ? t[kBiasGroups] : nullptr,
                                                     t[bias_out(attributes)], workspace_bytes, executor);
    };
    first.phase2 = aclnnGroupedBiasAddGrad;
    CaseCall call(first);
    ASSERT_TRUE(call.run_cleanly());
    EXPECT_TRUE(call.has_bits(bias_out(attributes), second[bias_out(attributes)].all_bits()));
  }
}

}  // namespace
}  // namespace openaclnn_test
