// The errors of single elements, and their statistics.
#include "judge/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "judge/arrays.h"
#include "runtime/failing_resources.h"
#include "verify/random.h"

namespace openaclnn_judge {
namespace {

using openaclnn_test::array_of;
using openaclnn_verify::array_of_doubles;
using openaclnn_verify::Shape;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Pair pair_of(aclDataType dtype, const Shape& dims, const std::vector<double>& device,
             const std::vector<double>& exact, const std::vector<double>& bound = {}) {
  return {
      "out", array_of(dtype, dims, device), array_of_doubles(dims, exact), {bound.begin(), bound.end()}, {}};
}

OutputReport measured(const Pair& pair, int worst = 5, int threads = 1) {
  OutputReport report;
  measure_errors(pair, worst, threads, report);
  return report;
}

int64_t count_of(const UlpHistogram& histogram) {
  int64_t all = histogram.not_finite;
  for (const int64_t count : histogram.counts) all += count;
  return all;
}

TEST(Histogram, PowersOfTwoBelongToTheLowerBin) {
  constexpr double kUlp = 0x1p-23;
  const std::vector<double> device = {1, 1, 1, 1, 1, 1, 1, 1, 129, 257};
  const std::vector<double> exact = {1,
                                     1 + kUlp / 4,
                                     1 + kUlp / 2,
                                     1 + kUlp * .75,
                                     1 + kUlp,
                                     1 + kUlp * 1.5,
                                     1 + kUlp * 2,
                                     1 + kUlp * 2.5,
                                     1,
                                     1};
  const OutputReport report = measured(pair_of(ACL_FLOAT, {10}, device, exact));
  EXPECT_EQ(report.ulps.counts[0], 1);
  EXPECT_EQ(report.ulps.counts[1], 2);
  EXPECT_EQ(report.ulps.counts[2], 2);
  EXPECT_EQ(report.ulps.counts[3], 2);
  EXPECT_EQ(report.ulps.counts[4], 1);
  EXPECT_EQ(report.ulps.counts[UlpHistogram::kBins - 2], 1);  // 2^30 ulps
  EXPECT_EQ(report.ulps.counts[UlpHistogram::kBins - 1], 1);
  EXPECT_EQ(count_of(report.ulps), 10);
  // Without a bound, only the rounded exact value is right. A tie is rounded to even.
  EXPECT_EQ(report.wrong, 7);
}

TEST(Histogram, CountsUlpsOfEachDtype) {
  const auto ulps = [](aclDataType dtype, double device, double exact) {
    const OutputReport report = measured(pair_of(dtype, {1}, {device}, {exact}));
    return report.worst.empty() ? 0 : report.worst[0].ulps;
  };
  EXPECT_EQ(ulps(ACL_FLOAT, 1 + 0x1p-22, 1), 2);
  EXPECT_EQ(ulps(ACL_FLOAT16, 1 + 0x1p-9, 1), 2);
  EXPECT_EQ(ulps(ACL_BF16, 1 + 0x1p-6, 1), 2);
  EXPECT_EQ(ulps(ACL_DOUBLE, 1 + 0x1p-51, 1), 2);
  EXPECT_EQ(ulps(ACL_INT32, 7, 5), 2);
  EXPECT_EQ(ulps(ACL_FLOAT, 0x1p-149, 0), 1);  // subnormal numbers
  EXPECT_EQ(ulps(ACL_FLOAT16, 0x1p-24, 0), 1);
  EXPECT_EQ(ulps(ACL_FLOAT, 2 - 0x1p-23, 2), .5);  // of the exact value, not of the device's
  EXPECT_EQ(ulps(ACL_FLOAT, 2, 2 - 0x1p-23), 1);
}

TEST(Magnitudes, GroupElementsByExponent) {
  const OutputReport report = measured(
      pair_of(ACL_FLOAT, {5}, {1, 1.5 + 0x1p-22, -1.25, 0x1p-140, 0}, {1, 1.5, -1.25, 0x1.8p-140, 0}));
  ASSERT_EQ(report.magnitudes.size(), 2u);  // without zeros
  EXPECT_EQ(report.magnitudes[0].exponent, -140);
  EXPECT_EQ(report.magnitudes[0].elements, 1);
  EXPECT_EQ(report.magnitudes[0].largest_ulps, 256);
  EXPECT_EQ(report.magnitudes[1].exponent, 0);
  EXPECT_EQ(report.magnitudes[1].elements, 3);
  EXPECT_EQ(report.magnitudes[1].largest_ulps, 2);
  EXPECT_DOUBLE_EQ(report.magnitudes[1].mean_ulps, 2. / 3);
}

TEST(Worst, HaveCoordinatesAndDescend) {
  std::vector<double> device(24, 1), exact = device;
  device[7] = 1 + 3 * 0x1p-23;
  device[23] = 1 + 5 * 0x1p-23;
  device[12] = 1 + 3 * 0x1p-23;
  const OutputReport report = measured(pair_of(ACL_FLOAT, {2, 3, 4}, device, exact), 2);
  ASSERT_EQ(report.worst.size(), 2u);
  EXPECT_EQ(report.worst[0].index, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(report.worst[0].ulps, 5);
  EXPECT_EQ(report.worst[0].device, 1 + 5 * 0x1p-23);
  EXPECT_EQ(report.worst[0].exact, 1);
  EXPECT_EQ(report.worst[0].error, 5 * 0x1p-23);
  EXPECT_EQ(report.worst[0].share, 0);                                // no bound
  EXPECT_EQ(report.worst[1].index, (std::vector<int64_t>{0, 1, 3}));  // the first of two equal errors
  EXPECT_EQ(measured(pair_of(ACL_FLOAT, {2, 3, 4}, device, exact), 0).worst.size(), 0u);
  EXPECT_EQ(measured(pair_of(ACL_FLOAT, {2, 3, 4}, device, exact), -1).wrong, 3);
}

TEST(Worst, AreOrderedByTheShareOfTheBound) {
  const double u = 0x1p-23;
  const OutputReport report =
      measured(pair_of(ACL_FLOAT, {3}, {1 + 8 * u, 1 + 2 * u, 1 + u}, {1, 1, 1}, {8 * u, u, 0}));
  EXPECT_EQ(report.wrong, 2);
  ASSERT_EQ(report.worst.size(), 3u);
  EXPECT_EQ(report.worst[0].index[0], 2);
  EXPECT_EQ(report.worst[0].share, 2);
  EXPECT_EQ(report.worst[1].index[0], 1);
  EXPECT_NEAR(report.worst[1].share, 2 / 1.5, 1e-12);
  EXPECT_EQ(report.worst[2].index[0], 0);  // right, with the largest error
  EXPECT_LT(report.worst[2].share, 1);
}

TEST(Wrong, NanAndInfinityRequireTheSame) {
  const auto wrong = [](double device, double exact, const std::vector<double>& bound = {}) {
    const OutputReport report = measured(pair_of(ACL_FLOAT, {1}, {device}, {exact}, bound));
    EXPECT_EQ(report.ulps.not_finite, std::isfinite(device) && std::isfinite(exact) ? 0 : 1);
    if (report.wrong > 0) {
      EXPECT_EQ(report.worst.at(0).error, kInfinity);
      EXPECT_EQ(report.worst[0].ulps, kInfinity);
    }
    return report.wrong;
  };
  EXPECT_EQ(wrong(kNan, kNan), 0);
  EXPECT_EQ(wrong(kInfinity, kInfinity), 0);
  EXPECT_EQ(wrong(kNan, 1), 1);
  EXPECT_EQ(wrong(1, kNan), 1);
  EXPECT_EQ(wrong(-kInfinity, kInfinity), 1);
  EXPECT_EQ(wrong(kInfinity, 1e39), 0);
  EXPECT_EQ(wrong(kInfinity, 3e38), 1);
  EXPECT_EQ(wrong(kNan, 1, {1e300}), 1);
  EXPECT_EQ(wrong(kNan, 1, {kNan}), 0);  // no guarantee covers the element
  EXPECT_EQ(wrong(1, kNan, {kNan}), 1);
}

TEST(Wrong, IntegersBeyond53BitsAreCompared) {
  const auto integers = [](std::vector<int64_t> values) {
    std::vector<std::byte> bytes(values.size() * sizeof values[0]);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return openaclnn_verify::owned_array(ACL_INT64, {static_cast<int64_t>(values.size())}, bytes);
  };
  constexpr int64_t kLarge = int64_t{1} << 53;
  const OutputReport report = measured({"out",
                                        integers({kLarge + 1, kLarge, -5, INT64_MIN}),
                                        integers({kLarge, kLarge, -5, INT64_MAX}),
                                        {},
                                        {}});
  EXPECT_EQ(report.wrong, 2);
  EXPECT_EQ(report.ulps.counts[0], 2);
  EXPECT_EQ(report.worst.at(1).index, (std::vector<int64_t>{0}));
}

TEST(Wrong, ComplexNumbersAreComparedByBytes) {
  std::vector<std::byte> right(24), wrong = right;
  wrong[9] = std::byte{1};
  const auto array = [](const std::vector<std::byte>& bytes) {
    return openaclnn_verify::owned_array(ACL_COMPLEX64, {3}, bytes);
  };
  const OutputReport report = measured({"out", array(wrong), array(right), {}, {}});
  EXPECT_EQ(report.wrong, 1);
  EXPECT_EQ(report.ulps.counts[0], 2);
  EXPECT_EQ(report.ulps.not_finite, 1);
  EXPECT_EQ(report.worst.at(0).index, (std::vector<int64_t>{1}));
}

TEST(Shapes, EmptyTensorsAndScalars) {
  const OutputReport empty = measured(pair_of(ACL_FLOAT, {3, 0}, {}, {}));
  EXPECT_EQ(empty.elements, 0);
  EXPECT_EQ(count_of(empty.ulps), 0);
  EXPECT_TRUE(empty.worst.empty() && empty.magnitudes.empty());
  const OutputReport scalar = measured(pair_of(ACL_FLOAT, {}, {3}, {2}));
  EXPECT_EQ(scalar.elements, 1);
  EXPECT_EQ(scalar.worst.at(0).index, std::vector<int64_t>());
}

// The statistics of many tiles equal those of a plain loop, with any number of threads.
TEST(Statistics, NeedNoFurtherThreads) {
  const std::vector<double> numbers(300'000, 0.5);
  const Pair pair = pair_of(ACL_FLOAT, {300'000}, numbers, numbers);
  runtime_test::refuse_threads(true);
  const OutputReport report = measured(pair, 5, 4);
  runtime_test::refuse_threads(false);
  EXPECT_EQ(count_of(report.ulps), 300'000);
}

TEST(Statistics, DoNotDependOnThreads) {
  openaclnn_verify::Random random(openaclnn_verify::test_seed());
  constexpr int64_t kElements = 300001;
  std::vector<double> device, exact, bound;
  for (int64_t i = 0; i < kElements; ++i) {
    exact.push_back(random.signed_magnitude(-20, 20));
    const double error = random.chance(3) ? random.signed_magnitude(-30, -10) : 0;
    device.push_back(openaclnn_verify::round_to(ACL_FLOAT, exact.back() * (1 + error)));
    bound.push_back(std::fabs(exact.back()) * 0x1p-20);
  }
  const Pair pair = pair_of(ACL_FLOAT, {kElements}, device, exact, bound);
  const OutputReport one = measured(pair, 7, 1);
  int64_t wrong = 0;
  double worst = 0;
  std::vector<int64_t> worst_index;
  for (size_t i = 0; i < device.size(); ++i) {
    const double error = std::fabs(device[i] - exact[i]);
    const double share = error / (openaclnn_verify::ulp(ACL_FLOAT, device[i]) / 2 + bound[i]);
    wrong += share > 1 ? 1 : 0;
    if (share > worst) {
      worst = share;
      worst_index = {static_cast<int64_t>(i)};
    }
  }
  EXPECT_EQ(one.wrong, wrong);
  EXPECT_GT(wrong, 1000);
  EXPECT_EQ(one.worst.at(0).index, worst_index);
  EXPECT_DOUBLE_EQ(one.worst[0].share, worst);
  EXPECT_EQ(count_of(one.ulps), kElements);
  for (const int threads : {2, 7, 64}) {
    const OutputReport other = measured(pair, 7, threads);
    EXPECT_EQ(other.wrong, one.wrong);
    EXPECT_EQ(other.ulps.counts, one.ulps.counts);
    ASSERT_EQ(other.worst.size(), 7u);
    for (size_t k = 0; k < 7; ++k) EXPECT_EQ(other.worst[k].index, one.worst[k].index);
    ASSERT_EQ(other.magnitudes.size(), one.magnitudes.size());
    for (size_t k = 0; k < one.magnitudes.size(); ++k)
      EXPECT_EQ(other.magnitudes[k].mean_ulps, one.magnitudes[k].mean_ulps);
  }
}

}  // namespace
}  // namespace openaclnn_judge
