// EmbeddingDenseBackward: values. Test vectors, error bounds, and the prescribed bits for any data and every pair of dtypes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "support/order_of_additions.h"

namespace openaclnn_test {
namespace {

constexpr DtypePair kHalves = {ACL_FLOAT16, ACL_FLOAT16}, kBrains = {ACL_BF16, ACL_BF16};

struct Vector {
  const char* name;
  DtypePair dtypes;
  aclDataType index_dtype;
  BackwardAttributes attributes;
  int64_t columns;
  std::vector<double> indices, grad;
  std::vector<uint64_t> out;
  std::vector<std::string> report;  // parts of the error message; empty: no fault
};

std::vector<Vector> vectors() {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double tiny = 0x1p-24;
  const std::vector<double> three_rows = {.5, -1, 2, 1.5, 3, -.25, -4, .125, 8};
  const std::vector<uint64_t> none = {0, 0, 0};
  const auto table = [](std::initializer_list<std::vector<uint64_t>> rows) {
    std::vector<uint64_t> bits;
    for (const std::vector<uint64_t>& row : rows) bits.insert(bits.end(), row.begin(), row.end());
    return bits;
  };
  const auto one_row = [](const char* name, DtypePair dtypes, bool scale, std::vector<double> grad,
                          uint64_t result) {
    std::vector<double> zeros(grad.size());
    return Vector{name,     dtypes, ACL_INT64, {.table_rows = 1, .scale = scale}, 1, zeros, std::move(grad),
                  {result}, {}};
  };
  std::vector<Vector> list = {
      {"three terms, scaled",
       kFloats,
       ACL_INT64,
       {.table_rows = 3, .scale = true},
       3,
       {1, 1, 1},
       three_rows,
       table({none, {0xbf2aaaab, 0x3f355556, 0x40500000}, none}),
       {}},
      {"two wrong indices",
       kFloats,
       ACL_INT64,
       {.table_rows = 4, .scale = true},
       2,
       {1, -5, 9, 1},
       {1, 10, 2, 20, 3, 30, 5, 50},
       {0, 0, 0x40400000, 0x41f00000, 0, 0, 0, 0},
       {kBackwardPhase2, "indices[1] = -5 is outside [0, 4)", "2 of 4"}},
      {"indices of FLOAT",
       kFloats,
       ACL_FLOAT,
       {.table_rows = 4},
       1,
       {3.7, -.5, nan, -1, inf, 2},
       {1, 2, 4, 8, 16, 32},
       {0x40000000, 0, 0x42000000, 0x3f800000},
       {kBackwardPhase2, "indices[2] = ", "nan is outside [0, 4)", "3 of 6"}},
      one_row("tie to even", kHalves, true, {tiny, 0}, 0x0000),
      one_row("tie up", kHalves, true, {3 * tiny, 0}, 0x0002),
      one_row("two thirds, FLOAT", kFloats, true, {1, 1, 0}, 0x3f2aaaab),
      one_row("two thirds, FLOAT16", kHalves, true, {1, 1, 0}, 0x3955),
      one_row("two thirds, BF16", kBrains, true, {1, 1, 0}, 0x3f2b),
      one_row("multiplied, not divided", kFloats, true, {1, 2, 4, 8, 16}, 0x40c66667),
      one_row("FLOAT16 into FLOAT", {ACL_FLOAT16, ACL_FLOAT}, false, {2048, 1}, 0x45001000),
      one_row("FLOAT into FLOAT16", {ACL_FLOAT, ACL_FLOAT16}, false, {2048, 1}, 0x6800),
      // As in GroupedBiasAddGrad, which rounds its sums the same way.
      one_row("FLOAT16 tie", kHalves, false, {2050, 1}, 0x6802),
      one_row("FLOAT16 overflow", kHalves, false, {65504, 16}, 0x7c00),
      one_row("FLOAT16 below overflow", kHalves, false, {65504, 8}, 0x7bff),
      one_row("FLOAT16 subnormal", kHalves, false, {tiny, tiny}, 0x0002),
      one_row("BF16 tie", kBrains, false, {256, 1}, 0x4380),
      one_row("BF16 above a tie", kBrains, false, {256, 1, 0x1p-14}, 0x4381),
      one_row("minus zero", kFloats, false, {-0.0}, 0),
      one_row("minus zeros", kBrains, false, {-0.0, -0.0}, 0),
      one_row("overflow on the way", kFloats, false, {3e38, 3e38, -3e38}, 0x7f800000),
  };
  // For every pair of dtypes and every index dtype that can represent 2.
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const aclDataType index_dtype : kBackwardIndexDtypes) {
      if (index_dtype == ACL_BOOL) continue;
      std::vector<uint64_t> row;
      for (const double value : {-3.5, -.875, 10.}) row.push_back(encode(dtypes.out, value));
      list.push_back({"padding",
                      dtypes,
                      index_dtype,
                      {.table_rows = 4, .padding_row = 0},
                      3,
                      {2, 0, 2},
                      three_rows,
                      table({none, none, row, none}),
                      {}});
    }
  }
  return list;
}

BackwardCall call_of(const Vector& vector) {
  BackwardCall call(vector.dtypes, vector.index_dtype, {static_cast<int64_t>(vector.indices.size())},
                    vector.columns, vector.attributes);
  call[kGrad].fill(vector.grad);
  call[kIndices].fill(vector.indices);
  return call;
}

TEST(EmbeddingBackwardVectors, HaveTheirBits) {
  for (const Vector& vector : vectors()) {
    BackwardCall call = call_of(vector);
    const Outcome outcome = call.run();
    EXPECT_TRUE(vector.report.empty() ? succeeded(outcome) : failed_in_sync(outcome, vector.report))
        << vector.name;
    EXPECT_EQ(call[kOut].all_bits(), vector.out) << vector.name << ", " << vector.dtypes;
  }
}

// The reference of the tests below must give the same numbers.
TEST(EmbeddingBackwardVectors, AgreeWithTheBitsReference) {
  for (const Vector& vector : vectors()) {
    EXPECT_EQ(call_of(vector).expected(), vector.out) << vector.name << ", " << vector.dtypes;
  }
}

TEST(EmbeddingBackwardVectors, TheSumsOfPaddedTablesInFloat) {
  EXPECT_EQ(encode(ACL_FLOAT, -3.5), 0xc0600000u);
  EXPECT_EQ(encode(ACL_FLOAT, -.875), 0xbf600000u);
  EXPECT_EQ(encode(ACL_FLOAT, 10), 0x41200000u);
}

TEST(EmbeddingBackwardVectors, TheOrderOfAdditionsIsThePrescribedOne) {
  for (size_t k = 0; k < std::size(kFloatDtypes); ++k) {
    for (const OrderedSum& row : kOrderedSums) {
      BackwardCall call({kFloatDtypes[k], kFloatDtypes[k]}, ACL_UINT8, {row.terms}, 1, {.table_rows = 1});
      for (int64_t i = 0; i < row.terms; ++i) call[kGrad].set(i, order_term(i));
      call[kIndices].fill({0});
      ASSERT_TRUE(call.run_and_compare());
      EXPECT_EQ(call[kOut].bits(0), row.bits[k]) << row.terms << " terms of dtype " << kFloatDtypes[k];
    }
  }
}

TEST(EmbeddingBackwardVectors, AMeanOf1300Terms) {
  BackwardCall call(kFloats, ACL_INT32, {1300}, 1, {.table_rows = 1, .scale = true});
  for (int64_t i = 0; i < 1300; ++i) call[kGrad].set(i, order_term(i));
  call[kIndices].fill({0});
  ASSERT_TRUE(call.run_and_compare());
  EXPECT_EQ(call[kOut].bits(0), 0xb62ac749u);
}

TEST(EmbeddingBackwardBounds, HoldForEveryPairOfDtypesAndScale) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const bool scale : {false, true}) {
      for (const int64_t rows : {1, 3, 40, 900}) {
        BackwardCall call(dtypes, ACL_INT32, {2500}, 5, {.table_rows = rows, .scale = scale});
        call.fill(random);
        ASSERT_TRUE(succeeded(call.run()));
        call.for_each_element([&](int64_t i, std::span<const float> terms) {
          const ExactElement exact = exact_element(terms, scale);
          const int64_t count = static_cast<int64_t>(terms.size());
          const long double result = call[kOut].get(i);
          const long double c = count == 0 ? 0 : static_cast<long double>(backward_bound(count, scale));
          EXPECT_LE(std::fabs(result - exact.value), allowed_error(dtypes.out, result, c, exact.magnitude))
              << dtypes << ", element " << i << ", sum of " << count << " terms: " << result << ", exact "
              << exact.value;
        });
      }
    }
  }
}

TEST(EmbeddingBackwardBits, AreThePrescribedOnesForAnyData) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (int n = 0; n < 24; ++n) {
      BackwardAttributes attributes = {.table_rows = random.between(1, n % 3 == 0 ? 4 : 300),
                                       .padding_row = random.between(-1, 4),
                                       .scale = n % 2 != 0};
      BackwardCall call(dtypes, n % 5 == 0 ? ACL_FLOAT : ACL_INT64,
                        {random.between(1, 40), random.between(1, 40)}, random.between(1, 40), attributes);
      call.fill_indices(random);
      n % 4 == 0 ? call.fill_grad(random) : call.fill_grad_with_anything(random);
      ASSERT_TRUE(call.run_and_compare()) << dtypes << ", call " << n;
    }
  }
}

// One term, or two terms of which one is 0: every 16-bit number passes through unchanged or is rounded once.
TEST(EmbeddingBackwardBits, AreThePrescribedOnesForEverySixteenBitPattern) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    if (dtypes.grad == ACL_FLOAT) continue;
    for (const bool scale : {false, true}) {
      BackwardCall call(dtypes, ACL_INT32, {2, 65536}, 1, {.table_rows = 65536, .scale = scale});
      for (int64_t i = 0; i < 65536; ++i) {
        call[kGrad].set_bits(i, static_cast<uint64_t>(i));
        call[kGrad].set_bits(65536 + i, 0);
        call[kIndices].set_bits(i, static_cast<uint64_t>(i));
        call[kIndices].set_bits(65536 + i, static_cast<uint64_t>(i));
      }
      ASSERT_TRUE(call.run_and_compare()) << dtypes;
    }
  }
}

TEST(EmbeddingBackwardBits, EveryNanIsTheCanonicalOne) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    const FloatFormat& format = *float_format(dtypes.grad);
    const uint64_t infinity = encode(dtypes.grad, std::numeric_limits<double>::infinity());
    const uint64_t sign = uint64_t{1} << (8 * element_bytes(dtypes.grad) - 1);
    const uint64_t quiet = uint64_t{1} << (format.precision - 2);
    const uint64_t patterns[] = {infinity | quiet, infinity | 1, sign | infinity | quiet | 5,
                                 sign | infinity | 3};
    for (const bool scale : {false, true}) {
      BackwardCall call(dtypes, ACL_INT32, {5}, 19, {.table_rows = 5, .scale = scale});
      for (int64_t i = 0; i < call[kGrad].numel(); ++i) call[kGrad].set_bits(i, patterns[i % 4]);
      call[kIndices].fill({0, 1, 1, 4, 4});
      ASSERT_TRUE(call.run_and_compare()) << dtypes;
      EXPECT_EQ(call[kOut].bits(0), encode(dtypes.out, std::nan("")));
    }
  }
}

// All positions have one index, so that the rows of its sum follow each other in memory.
TEST(EmbeddingBackwardBits, AreThePrescribedOnesIfRowsFollowEachOther) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns : {16, 33, 100, 520, 1030}) {
      for (const int64_t terms : {5, 64, 130, 300, 500, 1100}) {
        BackwardCall call(dtypes, ACL_INT64, {terms}, columns, {.table_rows = 1});
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare())
            << dtypes << ", " << terms << " rows of " << columns << " columns";
      }
    }
  }
}

// A row's bits depend on its own terms: the same terms among others, at other positions and in another row
// give the same bits.
TEST(EmbeddingBackwardBits, DependOnTheTermsOfTheRowOnly) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    BackwardCall alone(dtypes, ACL_INT64, {700}, 21, {.table_rows = 1, .scale = true});
    alone.fill(random);
    ASSERT_TRUE(succeeded(alone.run()));
    BackwardCall among(dtypes, ACL_INT64, {4000}, 21, {.table_rows = 60, .scale = true});
    among.fill_grad(random);
    int64_t next = 0;
    for (int64_t n = 0; n < 4000; ++n) {
      const bool is_next = next < 700 && (random.chance(4) || 4000 - n <= 700 - next);
      const int64_t other = random.below(59);
      among[kIndices].set(n, static_cast<double>(is_next ? 37 : other + (other >= 37)));
      if (!is_next) continue;
      for (int64_t c = 0; c < 21; ++c) among[kGrad].set_bits(n * 21 + c, alone[kGrad].bits(next * 21 + c));
      ++next;
    }
    ASSERT_TRUE(succeeded(among.run()));
    for (int64_t c = 0; c < 21; ++c) {
      ASSERT_EQ(among[kOut].bits(37 * 21 + c), alone[kOut].bits(c)) << dtypes << ", column " << c;
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
