// The rules of msprobe that compare with a third device: benchmark and ulp.
#include "judge/msprobe.h"
#include "judge/rule_list.h"
#include "judge/verdict.h"
#include "verify/number.h"

namespace openaclnn_judge {

using openaclnn_verify::FloatFormat;

namespace {

// One row of msprobe's details: a device against the golden.
struct Row {
  double small_errors = 0, largest = 0, mean = 0, rmse = 0, balance = 0;
};

Row row_of(const Array& device, const Array& golden) {
  const MsprobeLimits& limits = msprobe_limits(device.dtype);
  const Precision precision(device.dtype, golden.dtype);
  int64_t small = 0, wrong_small = 0, normal = 0;
  Row row;
  Sum relatives, squares;
  for_each_element(device, golden, [&](double d, double exact) {
    const double g = precision.golden(exact);
    if (!std::isfinite(d) || !std::isfinite(precision.cast(exact))) return;
    const double absolute = std::fabs(precision.error(d, g));
    if (std::fabs(g) <= limits.small_value) {
      ++small;
      wrong_small += absolute > precision.limit(limits.benchmark_small) ? 1 : 0;
      return;
    }
    ++normal;
    const double relative = precision.relative(absolute, g);
    raise_to(row.largest, relative);
    relatives.add(relative);
    squares.add(absolute * absolute);
  });
  const auto count = static_cast<double>(device.numel()), used = static_cast<double>(normal);
  if (small > 0) row.small_errors = static_cast<double>(wrong_small) / static_cast<double>(small);
  if (normal > 0) row.mean = relatives.value() / used;
  row.rmse = std::sqrt(squares.value() / count * (count / (used + 1e-4) + 1e-4));
  row.balance = error_balance(device, golden);
  return row;
}

// Adds |device| / max(|third|, floor), with msprobe's treatment of values that are not finite.
void add_ratio(Judgement& judgement, const char* name, double device, double third, double floor,
               double limit) {
  if (std::isfinite(device) && std::isfinite(third))
    return judgement.require_at_most(name, std::fabs(device) / std::max(std::fabs(third), floor), limit);
  const bool are_equal = (std::isnan(device) && std::isnan(third)) || device == third;
  judgement.require(name, std::nan(""), are_equal, "<= " + number_text(limit));
}

// Elements with NaN or Inf on the device where the golden has a finite number, or the other way round.
// msprobe's rules leave these elements out, so NaN everywhere would pass. This library fails them.
void require_equal_finiteness(Judgement& judgement, const Pair& pair) {
  const Precision precision(pair.device.dtype, pair.golden.dtype);
  int64_t different = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double exact) {
    const double g = openaclnn_verify::round_to(pair.device.dtype, precision.golden(exact));
    const bool are_equal = std::isfinite(d) ? std::isfinite(g) : std::isnan(d) ? std::isnan(g) : d == g;
    different += are_equal ? 0 : 1;
  });
  judgement.require_zero("elements with NaN or Inf on one side", static_cast<double>(different));
}

struct Ulps {
  double largest = 0, mean = 0, share = 0;
};

Ulps ulps_of(const Array& device, const Array& golden) {
  const FloatFormat& format = *openaclnn_verify::float_format(device.dtype);
  const Precision precision(device.dtype, golden.dtype);
  const double threshold = device.dtype == ACL_FLOAT ? 32 : 1;
  Ulps ulps;
  Sum sum;
  int64_t above = 0;
  for_each_element(device, golden, [&](double d, double exact) {
    const double g = precision.golden(exact);
    double ulp = std::nan("");
    if (std::isfinite(g)) {
      const int exponent = std::max(g == 0 ? 0 : std::ilogb(g), format.min_exponent);
      ulp = std::fabs(std::ldexp(precision.error(d, g), format.precision - 1 - exponent));
    }
    raise_to(ulps.largest, ulp);
    sum.add(ulp);
    above += ulp > threshold ? 1 : 0;
  });
  const auto count = static_cast<double>(device.numel());
  ulps.mean = sum.value() / count;
  ulps.share = static_cast<double>(above) / count;
  return ulps;
}

}  // namespace

// benchmark: five statistics of the device, each divided by that of a third device, or by a floor if that is larger.
// The ratios have limits by level (max rel 10, 5, 2; mean rel and rmse 2, 1.5, 1.2; small errors 2). The balance of signs
// is only reported. Source: msprobe acc_check and api_precision_compare, the main rule for floating-point outputs.
// msprobe ignores NaN and Inf on one side; here they are an error.
Verdict judge_benchmark(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "benchmark";
  const RatioLimits limits = ratio_limits(level_of(settings));
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips, true)) return *verdict;
  const Row device = row_of(pair.device, pair.golden), third = row_of(*pair.third, pair.golden);
  const double floor = msprobe_limits(pair.device.dtype).ratio_floor;
  Judgement judgement(kName);
  add_ratio(judgement, "ratio of small errors", device.small_errors, third.small_errors, floor, 2);
  add_ratio(judgement, "ratio of max rel", device.largest, third.largest, floor, limits.largest);
  add_ratio(judgement, "ratio of mean rel", device.mean, third.mean, floor, limits.mean);
  add_ratio(judgement, "ratio of rmse", device.rmse, third.rmse, floor, limits.rmse);
  judgement.report("ratio of balances", device.balance / std::max(third.balance, floor));
  require_equal_finiteness(judgement, pair);
  return judgement.finish();
}

// ulp: with the error of each element in ulps of the golden, FLOAT16 and BF16 need a share of elements above 1 ulp
// below 0.001. FLOAT needs a mean below 64 or a share above 32 ulps below 0.05. A share below that of a third device also passes. Source: msprobe acc_check, for products of matrices. NaN and Inf on one side are an error, although msprobe
// ignores NaN.
Verdict judge_ulp(const Pair& pair, const Settings&) {
  constexpr const char* kName = "ulp";
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips, pair.third.has_value()))
    return *verdict;
  const Ulps ulps = ulps_of(pair.device, pair.golden);
  const bool is_single = pair.device.dtype == ACL_FLOAT;
  double ratio = std::nan("");
  if (pair.third) {
    const double floor = msprobe_limits(pair.device.dtype).ratio_floor;
    ratio = ulps.share / std::max(ulps_of(*pair.third, pair.golden).share, floor);
  }
  const bool is_accepted =
      ulps.share < (is_single ? 0.05 : 0.001) || (is_single && ulps.mean < 64) || ratio < 1;
  Judgement judgement(kName);
  judgement.report("max ulp error", ulps.largest);
  judgement.report("mean ulp error", ulps.mean);
  if (pair.third) judgement.report("ratio of shares", ratio);
  judgement.require(is_single ? "share of elements above 32 ulps" : "share of elements above 1 ulp",
                    ulps.share, is_accepted,
                    is_single ? "< 0.05, or a mean < 64, or a ratio to a third device < 1"
                              : "< 0.001, or a ratio to a third device < 1");
  require_equal_finiteness(judgement, pair);
  return judgement.finish();
}

}  // namespace openaclnn_judge
