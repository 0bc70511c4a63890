// Goldens against the oracles of all operators, which compute in long double, one element at a time.
#include "verify/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include "golden_of_case.h"
#include "judge/arrays.h"
#include "judge/call.h"
#include "verify/number.h"
#include "verify/random.h"
#include "verify/room_cases.h"
#include "verify/room_descriptions.h"

namespace openaclnn_verify {
namespace {

bool same_bits(const ZeroedDoubles& a, const ZeroedDoubles& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}
bool same_bits(const Golden& a, const Golden& b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    if (!same_bits(a.outputs[k].exact, b.outputs[k].exact) ||
        !same_bits(a.outputs[k].bound, b.outputs[k].bound) || a.outputs[k].copied != b.outputs[k].copied)
      return false;
  }
  return true;
}

// One element of a golden against the oracle's.
void expect_equal(const GoldenOutput& output, size_t i, const Reference& reference, int64_t& covered) {
  if (!reference.prescribed.empty()) {
    const auto bytes = reference.prescribed.size();
    if (!output.copied.empty()) {
      ASSERT_EQ(std::memcmp(output.copied.data() + i * bytes, reference.prescribed.data(), bytes), 0);
      if (output.exact.empty()) return;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, reference.prescribed.data(), bytes);
    const double wanted = output.dtype == ACL_INT64 ? static_cast<double>(static_cast<int64_t>(bits))
                                                    : decode(output.dtype, bits);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(output.exact[i]));
    } else {
      ASSERT_EQ(output.exact[i], wanted);
    }
    ASSERT_EQ(output.bound[i], 0);
    ++covered;
    return;
  }
  if (!reference.is_bounded) {
    // The oracle skips exact values beyond the range of the dtype.
    const bool is_beyond = std::fabs(output.exact[i]) > largest_finite(output.dtype);
    ASSERT_TRUE(std::isnan(output.bound[i]) || is_beyond) << output.bound[i];
    return;
  }
  const auto magnitude = static_cast<double>(reference.magnitude);
  const auto bound = static_cast<double>(reference.c * 0x1p-24L * reference.magnitude);
  ASSERT_LE(std::fabs(output.exact[i] - reference.exact), 0x1p-50 * magnitude + 0x1p-1000);
  if (std::isnan(output.bound[i])) return;  // counted by the caller: few may be
  ASSERT_NEAR(output.bound[i], bound, bound * 0x1p-40);
  ++covered;
}

class Goldens : public testing::TestWithParam<RandomCases> {};

// Also judges the results of this library: they must be within the bounds.
TEST_P(Goldens, EqualTheOracleOnRandomCases) {
  Random random(test_seed());
  RandomDraw draw(random);
  int64_t covered = 0, elements = 0;
  for (int n = 0; n < 1000; ++n) {
    const Case c = GetParam().make(draw, n % 100 == 0 ? 2000 : 120);
    SCOPED_TRACE(c.name + "; " + seed_text());
    const std::vector<HostTensor> tensors = make_tensors(c);
    const std::vector<HostTensor> before = before_call(c, tensors);
    ASSERT_TRUE(run_case(c, tensors).ok());
    Judge judge;
    judge.keep_references();
    judge_case(c, before, tensors, judge);
    ASSERT_TRUE(judge.ok()) << judge.messages();

    const Golden golden = golden_of(GetParam().operator_name, golden_call(c, before, 1));
    // The oracle's elements by parameter and dtype: "ApplyAdamW varRef, version 2".
    std::map<std::pair<std::string, aclDataType>, std::vector<Reference>> references;
    judge.for_each([&](const OutputRecord& record) {
      const std::string name = record.name().substr(record.name().find(' ') + 1);
      references[{name.substr(0, name.find(',')), record.dtype()}] = record.references();
    });
    std::map<std::pair<std::string, aclDataType>, size_t> compared;
    for (const GoldenOutput& output : golden.outputs) {
      const auto key = std::pair(output.parameter, output.dtype);
      size_t& at = compared[key];
      const size_t size =
          output.exact.empty() ? static_cast<size_t>(count_elements(output.dims)) : output.exact.size();
      ASSERT_LE(at + size, references[key].size()) << output.parameter;
      for (size_t i = 0; i < size; ++i) {
        expect_equal(output, i, references[key][at++], covered);
        ASSERT_FALSE(HasFatalFailure()) << output.parameter << "[" << i << "]";
        ++elements;
      }
    }
    for (const auto& [key, list] : references) ASSERT_EQ(compared[key], list.size()) << key.first;
    if (n % 10 != 0) continue;
    for (const int threads : {2, 5})
      ASSERT_TRUE(same_bits(golden, golden_of(GetParam().operator_name, golden_call(c, before, threads))));
  }
  EXPECT_GT(elements, 5000);
  const bool has_complex_numbers = std::string(GetParam().operator_name) == "Embedding";
  EXPECT_GT(covered, elements * (has_complex_numbers ? 5 : 9) / 10);
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, testing::ValuesIn(kRandomCases),
                         [](const auto& entry) { return std::string(entry.param.operator_name); });

template <class Number>
Array array(aclDataType dtype, Shape dims, const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return owned_array(dtype, std::move(dims), std::move(bytes));
}

openaclnn_judge::Call bias_call(const std::vector<int64_t>& ends) {
  openaclnn_judge::Call call;
  call.description = find_description("aclnnGroupedBiasAddGradV2");
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  add_input(call, "gradY",
            array<float>(ACL_FLOAT, {3, 3}, {1, infinity, nan, 2, 3, 4, 0x1p-100f, -infinity, 5}));
  add_input(call, "groupIdxOptional", array<int64_t>(ACL_INT64, {static_cast<int64_t>(ends.size())}, ends));
  return call;
}

TEST(GoldenOfCall, KeepsInfinityAndNaN) {
  const Golden golden = openaclnn_judge::golden_of(bias_call({2, 3}), 1);
  const ZeroedDoubles &exact = golden.outputs.at(0).exact, &bound = golden.outputs[0].bound;
  EXPECT_EQ(exact[0], 3);
  EXPECT_EQ(exact[1], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(exact[2]));
  EXPECT_EQ(exact[3], 0x1p-100);
  EXPECT_TRUE(std::isnan(bound[1]) && std::isnan(bound[2]));
  const Golden together = openaclnn_judge::golden_of(bias_call({3}), 1);
  EXPECT_EQ(together.outputs.at(0).exact[0], 3);  // rounded to double
  EXPECT_TRUE(std::isnan(together.outputs[0].exact[1]));
}

// FLOAT16 rounds results beyond its range to Inf, but the sums of FLOAT are far from overflowing. FLOAT and BF16 have its range.
TEST(GoldenOfCall, BoundsExactValuesBeyondTheRangeUnlessSumsOverflow) {
  for (const auto& [dtype, term, is_bounded] :
       {std::tuple(ACL_FLOAT16, 40000.0, true), std::tuple(ACL_FLOAT16, -40000.0, true),
        std::tuple(ACL_FLOAT, 0x1.8p127, false), std::tuple(ACL_BF16, 0x1.8p127, false)}) {
    SCOPED_TRACE(term);
    openaclnn_judge::Call call;
    call.description = find_description("aclnnGroupedBiasAddGradV2");
    add_input(call, "gradY", openaclnn_test::array_of(dtype, {2, 1}, {term, term}));
    add_input(call, "groupIdxOptional", array<int64_t>(ACL_INT64, {1}, {2}));
    const GoldenOutput output = openaclnn_judge::golden_of(call, 1).outputs.at(0);
    EXPECT_EQ(std::fabs(output.exact[0]), 2 * std::fabs(openaclnn_test::array_of(dtype, {1}, {term}).get(0)));
    EXPECT_EQ(std::isnan(output.bound[0]), !is_bounded) << output.bound[0];
    if (is_bounded) {
      EXPECT_EQ(output.bound[0], 3 * 0x1p-24 * std::fabs(output.exact[0]));
    }
  }
}

TEST(GoldenOfCall, BoundsMomentsBeyondTheRange) {
  openaclnn_judge::Call call;
  call.description = find_description("aclnnApplyAdamWV2");
  for (const char* const name : {"varRef", "mRef", "vRef"})
    add_input(call, name, openaclnn_test::array_of(ACL_FLOAT16, {1}, {1}));
  add_input(call, "grad", openaclnn_test::array_of(ACL_FLOAT16, {1}, {60000}));
  add_input(call, "step", array<int64_t>(ACL_INT64, {1}, {1}));
  const GoldenOutput v = openaclnn_judge::golden_of(call, 1).outputs.at(2);
  EXPECT_EQ(v.parameter, "vRef");
  EXPECT_GT(v.exact[0], 3.5e6);
  EXPECT_GT(v.bound[0], 0);
}

TEST(GoldenOfCall, KeepsInfinityOfMoments) {
  openaclnn_judge::Call call;
  call.description = find_description("aclnnApplyFusedEmaAdam");
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* const name : {"grad", "varRef", "mRef"})
    add_input(call, name, array<float>(ACL_FLOAT, {2}, {1, 1}));
  add_input(call, "vRef", array<float>(ACL_FLOAT, {2}, {infinity, 1}));
  add_input(call, "sRef", array<float>(ACL_FLOAT, {2}, {1, -infinity}));
  add_input(call, "step", array<int64_t>(ACL_INT64, {1}, {3}));
  const Golden golden = openaclnn_judge::golden_of(call, 1);
  EXPECT_EQ(golden.outputs.at(0).exact[0], 1);  // the update is 1 / infinity
  EXPECT_EQ(golden.outputs[2].exact[0], infinity);
  EXPECT_EQ(golden.outputs[3].exact[1], -infinity);
}

TEST(ZeroedVectors, AreZerosAndMoveTheirMemory) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{1} << 20}) {
    ZeroedDoubles numbers(count);
    EXPECT_EQ(std::ranges::count(numbers, 0.0), static_cast<int64_t>(count));
    const double* const memory = numbers.data();
    const ZeroedDoubles moved = std::move(numbers);
    EXPECT_EQ(moved.data(), memory);
    EXPECT_EQ(ZeroedDoubles(moved), moved);
  }
  ZeroedDoubles numbers;
  EXPECT_THROW(numbers.resize(size_t{1} << 59), std::bad_alloc);
}

TEST(GoldenOfCall, RejectsHostileArguments) {
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{2, 1}, {-1}, {4}, {INT64_MAX}, {INT64_MIN}})
    EXPECT_THROW(openaclnn_judge::golden_of(bias_call(ends), 1), std::invalid_argument) << ends[0];
  openaclnn_judge::Call sizes = bias_call({INT64_MAX, INT64_MAX});
  sizes.values.integers["groupIdxType"] = {1};
  EXPECT_THROW(openaclnn_judge::golden_of(sizes, 1), std::invalid_argument);
  openaclnn_judge::Call without = bias_call({3});
  without.inputs.clear();
  without.values.tensors.clear();
  EXPECT_THROW(openaclnn_judge::golden_of(without, 1), std::invalid_argument);
  EXPECT_THROW(openaclnn_judge::golden_of({}, 1), std::invalid_argument);

  openaclnn_judge::Call table;
  table.description = find_description("aclnnEmbeddingDenseBackward");
  add_input(table, "grad", array<float>(ACL_FLOAT, {2, 1}, {1, 2}));
  add_input(table, "indices", array<int64_t>(ACL_INT64, {2}, {INT64_MAX, -5}));
  for (const int64_t rows : {int64_t{-1}, INT64_MAX, INT64_MAX / 8}) {
    table.values.integers["numWeights"] = {rows};
    EXPECT_THROW(openaclnn_judge::golden_of(table, 1), std::invalid_argument) << rows;
  }
  table.values.integers["numWeights"] = {2};
  EXPECT_EQ(openaclnn_judge::golden_of(table, 1).outputs.at(0).exact, (ZeroedDoubles{0, 0}));

  openaclnn_judge::Call windows;
  windows.description = find_description("aclnnNsaCompress");
  add_input(windows, "input", array<float>(ACL_FLOAT, {4, 1, 1}, {1, 2, 3, 4}));
  add_input(windows, "weight", array<float>(ACL_FLOAT, {2, 1}, {1, 1}));
  windows.values.integers["compressBlockSize"] = {2};
  for (const int64_t stride : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    windows.values.integers["compressStride"] = {stride};
    EXPECT_THROW(openaclnn_judge::golden_of(windows, 1), std::invalid_argument) << stride;
  }
  windows.values.integers["compressStride"] = {1};
  windows.values.integers["actSeqLenOptional"] = {2, INT64_MAX};
  EXPECT_THROW(openaclnn_judge::golden_of(windows, 1), std::invalid_argument);
}

}  // namespace
}  // namespace openaclnn_verify
