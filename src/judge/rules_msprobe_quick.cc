// The rules of msprobe's acc_check that need no second device: quick, absolute, accumulative, binary and thousandth.
#include "base/text.h"
#include "judge/msprobe.h"
#include "judge/rule_list.h"
#include "judge/verdict.h"
#include "verify/number.h"

namespace openaclnn_judge {

using openaclnn::text;

namespace {

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The cosine in DOUBLE after both sides are divided by their largest magnitudes. NaN: msprobe leaves the test out.
struct Cosine {
  double value = std::nan("");
  bool one_side_is_zero = false;
};

Cosine cosine_of(const Pair& pair, const Precision& precision) {
  constexpr double kEpsilon = 0x1p-52;
  double device_max = 0, golden_max = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    raise_to(device_max, std::fabs(d));
    raise_to(golden_max, std::fabs(precision.golden(g)));
  });
  const bool device_is_zero = device_max <= kEpsilon, golden_is_zero = golden_max <= kEpsilon;
  if (pair.device.numel() == 1 || (device_is_zero && golden_is_zero)) return {};
  if (device_is_zero || golden_is_zero) return {std::nan(""), true};
  Sum products, devices, goldens;
  for_each_element(pair.device, pair.golden, [&](double device, double golden) {
    const double d = device / device_max, g = precision.golden(golden) / golden_max;
    products.add(d * g);
    devices.add(d * d);
    goldens.add(g * g);
  });
  return {products.value() / (std::sqrt(devices.value()) * std::sqrt(goldens.value())), false};
}

// msprobe compares how many elements were dropped.
Verdict judge_dropout(const Pair& pair) {
  int64_t device_zeros = 0, golden_zeros = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    device_zeros += d == 0 ? 1 : 0;
    golden_zeros += g == 0 ? 1 : 0;
  });
  Judgement judgement("quick");
  const double difference = std::fabs(share(golden_zeros - device_zeros, pair.device.numel()));
  if (pair.device.numel() < 100) {
    judgement.report("difference of the shares of zeros", difference);
  } else {
    judgement.require_below("difference of the shares of zeros", difference, 0.1);
  }
  return judgement.finish();
}

Verdict judge_quick_integers(const Pair& pair, const std::string& api) {
  Judgement judgement("quick");
  if (is_quantization_api(api)) {
    double largest = 0;
    for_each_distance(pair.device, pair.golden,
                      [&](double, double, double distance) { largest = std::max(largest, distance); });
    judgement.require_at_most("max abs error", largest, 1);
  } else {
    judgement.require_zero("share of different elements", share(count_different(pair), pair.device.numel()));
  }
  return judgement.finish();
}

Verdict judge_quick_floats(const Pair& pair) {
  Judgement judgement("quick");
  const Precision precision(pair.device.dtype, pair.golden.dtype);
  double largest = 0;
  int64_t below_1e2 = 0, below_1e3 = 0, below_1e4 = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double exact) {
    const double g = precision.golden(exact);
    const double absolute = std::fabs(precision.error(d, g)), relative = precision.relative(absolute, g);
    raise_to(largest, absolute);
    below_1e2 += relative < precision.limit(0.01) ? 1 : 0;
    below_1e3 += relative < precision.limit(0.001) ? 1 : 0;
    below_1e4 += relative < precision.limit(0.0001) ? 1 : 0;
  });
  const Cosine cosine = cosine_of(pair, precision);
  if (cosine.one_side_is_zero) {
    judgement.require("cosine", cosine.value, false, "> 0.99");
  } else if (std::isnan(cosine.value)) {
    judgement.report("cosine", cosine.value);
  } else {
    judgement.require_above("cosine", cosine.value, 0.99);
  }
  judgement.report("max abs error", largest);
  const int64_t count = pair.device.numel();
  const bool is_16 = is_16_bit(pair.device.dtype);
  const double coarse = share(is_16 ? below_1e2 : below_1e3, count),
               fine = share(is_16 ? below_1e3 : below_1e4, count);
  const std::string coarse_name =
      is_16 ? "share of elements with rel < 0.01" : "share of elements with rel < 0.001";
  const std::string fine_name =
      is_16 ? "share of elements with rel < 0.001" : "share of elements with rel < 0.0001";
  if (largest < 0.001) {
    judgement.report(coarse_name, coarse);
    judgement.report(fine_name, fine);
  } else {
    const double coarse_limit = is_16 ? 0.99 : 0.999, fine_limit = is_16 ? 0.999 : 0.9999;
    judgement.require_above(coarse_name, coarse, coarse_limit);
    judgement.require(fine_name, fine, fine > fine_limit, "> " + number_text(fine_limit), Result::warning);
  }
  return judgement.finish();
}

// The limits of the absolute and the accumulative rule.
struct AbsoluteLimits {
  double small_value, relative, small_absolute, infinite_relative;
};

void judge_absolute_shares(Judgement& judgement, const Pair& pair, const AbsoluteLimits& limits) {
  const aclDataType dtype = pair.device.dtype;
  const Precision precision(dtype, pair.golden.dtype);
  const double largest = openaclnn_verify::largest_finite(dtype);
  int64_t infinite = 0, wrong_infinite = 0, normal = 0, wrong_normal = 0, small = 0, wrong_small = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double exact) {
    const double g = precision.golden(exact), cast = precision.cast(exact);
    if (!std::isfinite(d) || !std::isfinite(cast)) {
      ++infinite;
      if (std::isnan(d) && std::isnan(g)) return;
      // Both sides are clipped to the range of the dtype, and subtracted in the dtype, or in FLOAT for BF16.
      const double clipped_d = std::isnan(d) ? d : std::clamp(d, -largest, largest);
      const double clipped_g = std::isnan(cast) ? cast : std::clamp(cast, -largest, largest);
      const double error = std::fabs(openaclnn_verify::round_to(precision.cast_dtype, clipped_d - clipped_g));
      wrong_infinite += error / (std::fabs(g) + precision.epsilon) <= limits.infinite_relative ? 0 : 1;
      return;
    }
    const double absolute = std::fabs(precision.error(d, g));
    if (std::fabs(g) <= limits.small_value) {
      ++small;
      wrong_small += absolute > precision.limit(limits.small_absolute) ? 1 : 0;
    } else {
      ++normal;
      wrong_normal += precision.relative(absolute, g) > limits.relative ? 1 : 0;
    }
  });
  judgement.require_zero("share of NaN and Inf that fail", share(wrong_infinite, infinite));
  judgement.require_zero("share of normal elements with too large rel", share(wrong_normal, normal));
  judgement.require_zero("share of small elements with too large abs", share(wrong_small, small));
}

}  // namespace

// quick: the column Status of msprobe acc_check. The first test that applies decides: cosine > 0.99, then max abs error
// < 0.001, then the shares of elements below two relative errors. NaN at equal places on both sides fails.
// Source: mindstudio-probe 26.2.0. Use it to see what acc_check says about one output without a GPU.
Verdict judge_quick(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "quick";
  const std::string api = api_name(settings.api);
  const Family device = family_of(pair.device.dtype), golden = family_of(pair.golden.dtype);
  if (pair.device.has_data() && pair.golden.has_data() && pair.device.dims == pair.golden.dims &&
      (device != golden || device == Family::complex || device == Family::other))
    return failed(kName, text("msprobe cannot compare ", openaclnn_verify::dtype_name(pair.device.dtype),
                              " with ", openaclnn_verify::dtype_name(pair.golden.dtype)));
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  if (api.find("dropout") != std::string::npos) return judge_dropout(pair);
  return device == Family::floating ? judge_quick_floats(pair) : judge_quick_integers(pair, api);
}

// absolute: every element has |d - g| / (|g| + eps) <= 2^-10, 2^-8 or 2^-20 for FLOAT16, BF16 and FLOAT. Elements up to the
// small-value limit have |d - g| <= 2^-16, 1e-16 or 2^-30 instead.
// Source: msprobe acc_check, the rule of elementwise operators. A golden of Inf accepts every finite number.
Verdict judge_absolute(const Pair& pair, const Settings&) {
  constexpr const char* kName = "absolute";
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips)) return *verdict;
  const MsprobeLimits& limits = msprobe_limits(pair.device.dtype);
  Judgement judgement(kName);
  judge_absolute_shares(judgement, pair,
                        {limits.small_value, limits.relative, limits.absolute_small, limits.relative});
  return judgement.finish();
}

// accumulative: |d - g| / (|g| + eps) <= b where |g| > 1, |d - g| <= b elsewhere, and the balance of the error signs has a
// limit. b is 2^-8, 2^-7 or 2^-11. Source: msprobe acc_check, for operators that add many terms.
Verdict judge_accumulative(const Pair& pair, const Settings&) {
  constexpr const char* kName = "accumulative";
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips)) return *verdict;
  const MsprobeLimits& limits = msprobe_limits(pair.device.dtype);
  const double bound = limits.accumulative;
  Judgement judgement(kName);
  judge_absolute_shares(judgement, pair, {1, bound, bound, bound});
  judgement.require_at_most("balance of error signs", error_balance(pair.device, pair.golden),
                            limits.balance);
  return judgement.finish();
}

// binary: d == g for every element; NaN fails. Source: msprobe acc_check, for operators that copy or compare.
Verdict judge_binary(const Pair& pair, const Settings&) {
  constexpr const char* kName = "binary";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  Judgement judgement(kName);
  judgement.require_zero("share of different elements", share(count_different(pair), pair.device.numel()));
  return judgement.finish();
}

// thousandth: a share of at least 0.999 has |d - g| / (|g| + eps) < 0.001. Source: msprobe acc_check, for convolutions.
Verdict judge_thousandth(const Pair& pair, const Settings&) {
  constexpr const char* kName = "thousandth";
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips)) return *verdict;
  const Precision precision(pair.device.dtype, pair.golden.dtype);
  int64_t below = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double exact) {
    const double g = precision.golden(exact);
    below += precision.relative(std::fabs(precision.error(d, g)), g) < precision.limit(0.001) ? 1 : 0;
  });
  const double value = share(below, pair.device.numel());
  Judgement judgement(kName);
  judgement.require("share of elements with rel < 0.001", value, value >= 0.999, ">= 0.999");
  return judgement.finish();
}

}  // namespace openaclnn_judge
