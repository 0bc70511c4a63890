// Both sides of the limits of every acceptance rule, and NaN, Inf, zeros, empty tensors and shapes that differ.
#include "judge/rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "verify/number.h"

namespace openaclnn_judge {
namespace {

using openaclnn_verify::array_of_doubles;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array array_of(aclDataType dtype, const std::vector<double>& values) {
  const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = openaclnn_verify::encode(dtype, values[i]);
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return openaclnn_verify::owned_array(dtype, {static_cast<int64_t>(values.size())}, bytes);
}

Pair pair_of(aclDataType dtype, const std::vector<double>& device, const std::vector<double>& golden) {
  return {"out",
          array_of(dtype, device),
          array_of_doubles({static_cast<int64_t>(golden.size())}, golden),
          {},
          {}};
}

Settings of_api(const char* api) {
  Settings settings;
  settings.api = api;
  return settings;
}

Settings of_level(const char* level) {
  Settings settings;
  settings.level = level;
  return settings;
}

Settings with_threshold(double threshold) {
  Settings settings;
  settings.threshold = threshold;
  return settings;
}

Settings with_equal_nan() {
  Settings settings;
  settings.equal_nan = true;
  return settings;
}

Verdict judged(const char* rule, const Pair& pair, const Settings& settings = {}) {
  return find_rule(rule)->apply(pair, settings);
}

Result result_of(const char* rule, const Pair& pair, const Settings& settings = {}) {
  return judged(rule, pair, settings).result;
}

double metric(const Verdict& verdict, const std::string& name) {
  for (const Metric& one : verdict.metrics)
    if (one.name == name) return one.value;
  ADD_FAILURE() << verdict.rule << " has no metric " << name;
  return kNan;
}

// `wrong` of `count` elements are 2 * (1 + error), the others are exact.
Pair with_errors(aclDataType dtype, int count, int wrong, double error) {
  std::vector<double> golden(static_cast<size_t>(count), 2), device = golden;
  for (int i = 0; i < wrong; ++i) device[static_cast<size_t>(i)] = 2 * (1 + error);
  return pair_of(dtype, device, golden);
}

TEST(Rules, HaveUniqueNamesAndDoNotCrash) {
  const std::vector<Pair> odd = {
      pair_of(ACL_FLOAT, {}, {}),
      pair_of(ACL_FLOAT, {1, 2}, {1}),
      pair_of(ACL_FLOAT, {kNan, kInfinity}, {kInfinity, kNan}),
      pair_of(ACL_INT64, {1}, {1}),
      {"out", {ACL_FLOAT, {2}, nullptr}, {ACL_FLOAT, {2}, nullptr}, {}, {}},
      {"out", array_of(ACL_INT32, {1, 2}), array_of(ACL_INT32, {1, 3}), {}, {}},
      {"out",
       openaclnn_verify::owned_array(ACL_COMPLEX64, {1}, std::vector<std::byte>(8)),
       openaclnn_verify::owned_array(ACL_COMPLEX64, {1}, std::vector<std::byte>(8)),
       {},
       {}},
  };
  for (const Rule& rule : rules()) {
    EXPECT_EQ(find_rule(rule.name), &rule);
    for (const Pair& pair : odd) {
      const Verdict verdict = rule.apply(pair, {});
      EXPECT_EQ(verdict.rule, rule.name);
      EXPECT_EQ(verdict.result == Result::pass, verdict.reason.empty()) << rule.name;
    }
    EXPECT_EQ(rule.apply(odd[1], {}).result, Result::error) << rule.name;  // shapes differ
    EXPECT_EQ(rule.apply(odd[4], {}).result, Result::skip) << rule.name;   // no data
  }
  EXPECT_EQ(find_rule("fast"), nullptr);
}

TEST(Quick, SharesHaveStrictLimits) {
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT, 1000, 1, 0.05)), Result::error);  // exactly 0.999
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT, 1001, 1, 0.05)), Result::warning);
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT, 10001, 1, 0.05)), Result::pass);
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT, 10000, 1, 0.05)), Result::warning);
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT16, 100, 1, 0.05)), Result::error);
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT16, 101, 1, 0.05)), Result::warning);
  EXPECT_EQ(result_of("quick", with_errors(ACL_FLOAT16, 1001, 1, 0.05)), Result::pass);
}

// msprobe compares relative errors of 16-bit types in FLOAT, whose 0.01 is below 0.01. These errors are exactly FLOAT's 0.01.
TEST(Quick, LimitsHaveThePrecisionOfTheGolden) {
  EXPECT_EQ(result_of("quick", pair_of(ACL_BF16, {.76953125, .76953125}, {.77734375, .77734375})),
            Result::error);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT16, {1.740234375, 1.740234375}, {1.7578125, 1.7578125})),
            Result::error);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT16, {1.7412109375, 1.7412109375}, {1.7578125, 1.7578125})),
            Result::warning);
}

TEST(Quick, SmallAbsoluteErrorsPassUnlessOneSideIsZero) {
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {1e-5, 9e-4}, {2e-5, 8e-4})), Result::pass);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {0, 0}, {1e-5, 1e-5})), Result::error);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {0, 0}, {0, 0})), Result::pass);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {1, -1}, {-1, 1})), Result::error);
}

TEST(Quick, EqualNanCountsAsFailingElement) {
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {kNan, 1, 2}, {kNan, 1, 2})), Result::error);
  std::vector<double> values(2001, 1);
  values[0] = kInfinity;
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, values, values)), Result::warning);
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, {kNan, 1, 2}, {0, 0, 0})), Result::error);
}

TEST(Quick, IntegersMustBeEqualExceptQuantizedOnes) {
  const Pair pair = {"out", array_of(ACL_INT8, {1, 2}), array_of(ACL_INT8, {1, 3}), {}, {}};
  EXPECT_EQ(result_of("quick", pair), Result::error);
  EXPECT_EQ(result_of("quick", pair, of_api("NPU.npu_dynamic_quant.0.forward")), Result::pass);
  const Pair other = {"out", array_of(ACL_INT16, {1}), array_of(ACL_INT16, {1}), {}, {}};
  EXPECT_EQ(result_of("quick", other), Result::error);
}

TEST(Quick, DropoutComparesZeros) {
  std::vector<double> golden(100, 1), device = golden;
  for (int i = 0; i < 9; ++i) device[static_cast<size_t>(i)] = 0;
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, device, golden), of_api("dropout")), Result::pass);
  device[9] = 0;
  EXPECT_EQ(result_of("quick", pair_of(ACL_FLOAT, device, golden), of_api("dropout")), Result::error);
}

TEST(Absolute, ClipsInfinitiesToTheRange) {
  const auto result = [](aclDataType dtype, double d, double g) {
    return result_of("absolute", pair_of(dtype, {d, 2}, {g, 2}));
  };
  EXPECT_EQ(result(ACL_FLOAT, kNan, kNan), Result::pass);
  EXPECT_EQ(result(ACL_FLOAT, 1, kNan), Result::error);
  EXPECT_EQ(result(ACL_FLOAT, 5, kInfinity), Result::pass);
  EXPECT_EQ(result(ACL_FLOAT, kInfinity, 5), Result::error);
  EXPECT_EQ(result(ACL_FLOAT, -kInfinity, kInfinity), Result::error);
  EXPECT_EQ(result(ACL_FLOAT16, -kInfinity, kInfinity), Result::error);
  EXPECT_EQ(result(ACL_FLOAT16, kInfinity, 70000), Result::pass);
  EXPECT_EQ(result(ACL_FLOAT16, 65504, 70000), Result::pass);
  EXPECT_EQ(result(ACL_FLOAT16, -65504, 70000), Result::error);
  EXPECT_EQ(result(ACL_FLOAT, 1, 1e39), Result::error);
}

TEST(Absolute, SmallValuesHaveAbsoluteLimits) {
  EXPECT_EQ(result_of("absolute", pair_of(ACL_FLOAT, {0x1p-30}, {0})), Result::pass);
  EXPECT_EQ(result_of("absolute", pair_of(ACL_FLOAT, {0x1.002p-30}, {0})), Result::error);
  EXPECT_EQ(result_of("absolute", pair_of(ACL_FLOAT, {1 + 0x1p-20}, {1})), Result::pass);
  EXPECT_EQ(result_of("absolute", pair_of(ACL_FLOAT, {1 + 0x1.2p-20}, {1})), Result::error);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_FLOAT, {1 + 0x1p-11, 1 - 0x1p-11}, {1, 1})), Result::pass);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_FLOAT, {1 + 0x1.1p-11, 1 - 0x1p-11}, {1, 1})),
            Result::error);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_FLOAT, {1 + 0x1p-11, 1}, {1, 1})),
            Result::error);  // balance
}

// msprobe raises BF16 to FLOAT before it looks at signs, so roundings to BF16 are errors with a sign.
TEST(Accumulative, BalanceOfBf16CountsRoundings) {
  const std::vector<double> golden(100, 1 + 0x1p-10), rounded(100, 1);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_BF16, rounded, golden)), Result::error);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_BF16, rounded, rounded)), Result::pass);
  const std::vector<double> golden_16(100, 1 + 0x1p-13);
  EXPECT_EQ(result_of("accumulative", pair_of(ACL_FLOAT16, rounded, golden_16)), Result::pass);
}

TEST(Thousandth, LimitIsInclusive) {
  EXPECT_EQ(result_of("thousandth", with_errors(ACL_FLOAT, 1000, 1, 0.1)), Result::pass);
  EXPECT_EQ(result_of("thousandth", with_errors(ACL_FLOAT, 1000, 2, 0.1)), Result::error);
  EXPECT_EQ(result_of("binary", with_errors(ACL_FLOAT, 1000, 0, 0)), Result::pass);
  EXPECT_EQ(result_of("binary", with_errors(ACL_FLOAT, 1000, 1, 0.1)), Result::error);
}

TEST(Benchmark, RatiosDependOnTheLevel) {
  Pair pair = with_errors(ACL_FLOAT, 2, 2, 0x1p-8);
  EXPECT_EQ(result_of("benchmark", pair), Result::skip);
  pair.third = with_errors(ACL_FLOAT, 2, 2, 0x1p-9).device;
  EXPECT_EQ(result_of("benchmark", pair), Result::pass);  // ratios of 2
  EXPECT_EQ(result_of("benchmark", pair, of_level("L1")), Result::error);
  EXPECT_EQ(result_of("benchmark", pair, of_api("Torch.embedding.0.forward")), Result::error);
  EXPECT_EQ(result_of("msprobe-8", pair, of_api("embedding")), Result::error);  // quick
  EXPECT_DOUBLE_EQ(metric(judged("benchmark", pair), "ratio of mean rel"), 2);
  EXPECT_THROW(result_of("benchmark", pair, of_level("L3")), std::invalid_argument);
  pair = pair_of(ACL_FLOAT, {kNan, 2}, {2, 2});
  pair.third = pair_of(ACL_FLOAT, {2, 2}, {2, 2}).device;
  EXPECT_EQ(result_of("benchmark", pair), Result::error);
}

TEST(Ulp, CountsUlpsOfTheGolden) {
  EXPECT_DOUBLE_EQ(metric(judged("ulp", pair_of(ACL_FLOAT, {1 + 0x1p-20}, {1})), "max ulp error"), 8);
  EXPECT_DOUBLE_EQ(metric(judged("ulp", pair_of(ACL_FLOAT, {0x1p-23}, {0})), "max ulp error"), 1);
  EXPECT_DOUBLE_EQ(metric(judged("ulp", pair_of(ACL_FLOAT16, {1 + 0x1p-9}, {1})), "max ulp error"), 2);
  EXPECT_EQ(result_of("ulp", with_errors(ACL_FLOAT16, 1001, 1, 0.1)), Result::pass);
  EXPECT_EQ(result_of("ulp", with_errors(ACL_FLOAT16, 1000, 1, 0.1)), Result::error);
  Pair pair = with_errors(ACL_FLOAT16, 1000, 1, 0.1);
  pair.third = with_errors(ACL_FLOAT16, 1000, 2, 0.1).device;
  EXPECT_EQ(result_of("ulp", pair), Result::pass);
}

TEST(MereMare, LimitsAreStrict) {
  EXPECT_EQ(result_of("mere-mare", with_errors(ACL_FLOAT, 100, 1, 9.9 * 0x1p-13)), Result::pass);
  EXPECT_EQ(result_of("mere-mare", with_errors(ACL_FLOAT, 100, 1, 10.1 * 0x1p-13)), Result::error);
  EXPECT_EQ(result_of("mere-mare", with_errors(ACL_FLOAT, 100, 100, 1.1 * 0x1p-13)), Result::error);
  EXPECT_EQ(result_of("mere-mare", with_errors(ACL_FLOAT, 100, 1, 0.05), with_threshold(0.01)), Result::pass);
  EXPECT_EQ(result_of("mere-mare", pair_of(ACL_FLOAT, {kNan}, {kNan})), Result::error);
  EXPECT_EQ(result_of("attention", pair_of(ACL_FLOAT16, {0x1p-8, 4 + 0x1p-6}, {0, 4})), Result::pass);
  EXPECT_EQ(result_of("attention", pair_of(ACL_FLOAT16, {0x1.1p-8, 4}, {0, 4})), Result::error);
}

TEST(Acceptance, CountsSmallElementsApart) {
  Pair pair = pair_of(ACL_FLOAT, {0x1p-16, 0x1p-16, 0x1p-16, 1}, {0, 0, 0, 1});
  pair.third = pair_of(ACL_FLOAT, {0, 0, 0, 1}, {0, 0, 0, 1}).device;
  EXPECT_EQ(result_of("acceptance", pair), Result::error);  // 3 / max(0, 1)
  pair.third = pair_of(ACL_FLOAT, {1, 1, 0, 1}, {0, 0, 0, 1}).device;
  EXPECT_EQ(result_of("acceptance", pair), Result::pass);
}

TEST(Tolerances, HaveDefaultsByDtype) {
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {1 + 0x1p-17}, {1})), Result::pass);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {1 + 0x1p-16}, {1})), Result::error);
  EXPECT_EQ(result_of("assert-close", pair_of(ACL_FLOAT16, {1 + 0x1p-10}, {1})), Result::pass);
  EXPECT_EQ(result_of("assert-close", pair_of(ACL_FLOAT16, {1 + 0x1p-9}, {1})), Result::error);
  EXPECT_EQ(result_of("assert-close", pair_of(ACL_BF16, {1 + 0x1p-7}, {1 - 0x1p-9}), {}), Result::pass);
  EXPECT_EQ(result_of("flaggems", pair_of(ACL_FLOAT, {1.0001}, {1})), Result::pass);
  EXPECT_EQ(result_of("flaggems", pair_of(ACL_FLOAT, {1.0002}, {1})), Result::error);
  EXPECT_EQ(result_of("kernelbench", pair_of(ACL_FLOAT, {1.0001}, {1})), Result::pass);
  EXPECT_EQ(result_of("kernelbench", pair_of(ACL_FLOAT, {1.0003}, {1})), Result::error);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {kNan}, {kNan})), Result::error);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {kNan}, {kNan}), with_equal_nan()), Result::pass);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {kInfinity}, {kInfinity})), Result::pass);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {1}, {kInfinity})), Result::error);
  EXPECT_EQ(result_of("allclose", pair_of(ACL_FLOAT, {}, {})), Result::pass);
}

TEST(Tolerances, OfWholeOutputs) {
  EXPECT_EQ(result_of("transformer-engine", pair_of(ACL_FLOAT, {1, 2.1}, {1, 2})), Result::error);
  EXPECT_EQ(result_of("transformer-engine", pair_of(ACL_FLOAT, {1, 2.1}, {1, 2}), with_threshold(0.1)),
            Result::pass);
  Pair pair = pair_of(ACL_FLOAT, {1.003}, {1});
  pair.third = array_of(ACL_FLOAT, {1.001});
  EXPECT_EQ(result_of("dynamo", pair), Result::pass);
  pair.third = array_of(ACL_FLOAT, {1.0009});
  EXPECT_EQ(result_of("dynamo", pair), Result::error);
}

TEST(Tolerances, OfLargeIntegersAreExact) {
  constexpr int64_t kLarge = int64_t{1} << 62;
  const auto integers = [](int64_t value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return openaclnn_verify::owned_array(ACL_INT64, {1}, bytes);
  };
  const auto near = [&](int64_t value, int64_t difference) {
    return Pair{"out", integers(value + difference), integers(value), {}, {}};
  };
  EXPECT_EQ(result_of("flaggems", near(kLarge, 0)), Result::pass);
  EXPECT_EQ(result_of("flaggems", near(kLarge, 1)), Result::error);
  EXPECT_EQ(result_of("flaggems", near(-kLarge, -1)), Result::error);
  EXPECT_EQ(result_of("quick", near(kLarge, -1), of_api("npu_dynamic_quant")), Result::pass);
  EXPECT_EQ(result_of("quick", near(kLarge, -2), of_api("npu_dynamic_quant")), Result::error);
}

TEST(Bitwise, ComparesTheRoundedGolden) {
  EXPECT_EQ(result_of("bitwise", pair_of(ACL_FLOAT16, {1.0 / 3, kNan}, {1.0 / 3, kNan})), Result::pass);
  EXPECT_EQ(result_of("bitwise", pair_of(ACL_FLOAT16, {-0.0}, {0.0})), Result::error);
}

TEST(Compare, LeavesOutEqualNan) {
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {kNan, 1}, {kNan, 1})), Result::pass);
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {kNan, 1}, {1, 1})), Result::error);
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {1, 1.1}, {1, -1})), Result::warning);
  EXPECT_EQ(result_of("graph-compare", pair_of(ACL_FLOAT, {3, 3}, {1.5, 1.5})), Result::error);
  EXPECT_EQ(result_of("graph-compare", pair_of(ACL_FLOAT, {3, 3}, {2, 2})), Result::pass);
  EXPECT_EQ(result_of("mindspore", pair_of(ACL_FLOAT, {1.0009}, {1})), Result::pass);
  EXPECT_EQ(result_of("mindspore", pair_of(ACL_FLOAT, {1.0011}, {1})), Result::error);
  EXPECT_DOUBLE_EQ(metric(judged("msaccucmp", pair_of(ACL_FLOAT, {3, 1}, {2, 0})), "accumulated rel error"),
                   0.5);
}

TEST(Compare, SingleElementsHaveNoShares) {
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {3}, {2})), Result::pass);
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {3, 3}, {2, 2})), Result::error);
  EXPECT_EQ(result_of("compare", pair_of(ACL_FLOAT, {kInfinity}, {2})), Result::error);
}

TEST(Compare, InfinitiesMustHaveOneSign) {
  for (const char* const rule : {"compare", "graph-compare"}) {
    EXPECT_EQ(result_of(rule, pair_of(ACL_FLOAT, {kInfinity, 1}, {kInfinity, 1})), Result::pass);
    EXPECT_EQ(result_of(rule, pair_of(ACL_FLOAT, {-kInfinity, 1}, {kInfinity, 1})), Result::error);
    EXPECT_EQ(result_of(rule, pair_of(ACL_FLOAT, {1, kInfinity}, {kInfinity, 1})), Result::error);
  }
}

TEST(Compare, RelativeErrorsHaveThePrecisionOfBothSides) {
  const auto relative = [](aclDataType dtype) {
    Pair pair = pair_of(dtype, {1.1, 1}, {});
    pair.golden = array_of(dtype, {-1, 0});
    return metric(judged("compare", pair), "max rel error");
  };
  EXPECT_EQ(relative(ACL_FLOAT), 0x1p23);
  EXPECT_EQ(relative(ACL_DOUBLE), 0x1p52);
}

TEST(Compare, ProductsStayWithinTheRange) {
  const Verdict verdict = judged("compare", pair_of(ACL_DOUBLE, {1e300, 3e300}, {1e300, 3.5e300}));
  EXPECT_EQ(verdict.result, Result::pass);
  EXPECT_NEAR(metric(verdict, "cosine"), 11.5 / std::sqrt(10 * 13.25), 1e-12);
  EXPECT_DOUBLE_EQ(metric(verdict, "Euclidean distance"), 5e299);
}

TEST(Openaclnn, AcceptsHalfAnUlpAndTheBound) {
  const auto result = [](double d, double exact, double bound) {
    Pair pair = pair_of(ACL_FLOAT, {d}, {exact});
    pair.bound = {bound};
    return result_of("openaclnn", pair);
  };
  EXPECT_EQ(result(1, 1 + 0x1p-24, 0), Result::pass);
  EXPECT_EQ(result(1, 1 + 0x1.1p-24, 0), Result::error);
  EXPECT_EQ(result(1, 1 + 0x1.1p-24, 0x1p-26), Result::pass);
  EXPECT_EQ(result(kNan, 1, kNan), Result::pass);
  EXPECT_EQ(result(kNan, 1, 1), Result::error);
  EXPECT_EQ(result(kNan, kNan, 0), Result::pass);
  EXPECT_EQ(result(kInfinity, kInfinity, 0), Result::pass);
  EXPECT_EQ(result(-kInfinity, kInfinity, 0), Result::error);
  EXPECT_EQ(result(kInfinity, 1e39, 0), Result::pass);
  EXPECT_EQ(share_of_allowed(ACL_FLOAT, 3e38, kNan, 1, 1), kInfinity);  // not NaN, which no maximum keeps
  EXPECT_EQ(result(0x1.fffffep127, 1e39, 0), Result::pass);
  EXPECT_EQ(result(kInfinity, 1e38, 1e30), Result::error);
  EXPECT_EQ(result_of("openaclnn", pair_of(ACL_FLOAT, {1}, {1})), Result::skip);
}

}  // namespace
}  // namespace openaclnn_judge
