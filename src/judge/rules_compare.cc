// The metrics of msprobe compare and msaccucmp, and the rules on them.
#include <cmath>
#include <limits>

#include "judge/rule_list.h"
#include "judge/verdict.h"

namespace openaclnn_judge {

namespace {

constexpr double kZero = 0x1p-52;

// The metrics of msprobe compare. NaN and equal infinities at equal places count as zeros.
struct Compared {
  bool is_available = true;  // false: NaN or Inf at different places, or infinities of different signs
  bool golden_is_finite = true, device_is_finite = true;
  double cosine = 1, distance = 0, largest = 0, largest_relative = 0, thousandth = 1, five_thousandths = 1;
};

// The exponent of a number, so that products of x * 2^-exponent stay within the range. 0 for numbers below 1.
int exponent_of(double largest) { return largest > 1 ? std::ilogb(largest) : 0; }

// The exponents of the largest finite magnitudes.
struct Exponents {
  int device, golden, error;
};

Exponents exponents_of(const Pair& pair) {
  double device = 0, golden = 0, error = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    if (std::isfinite(d)) device = std::max(device, std::fabs(d));
    if (std::isfinite(g)) golden = std::max(golden, std::fabs(g));
    if (std::isfinite(d - g)) error = std::max(error, std::fabs(d - g));
  });
  return {exponent_of(device), exponent_of(golden), exponent_of(error)};
}

// |d - g| / |g|. If g is 0, the machine epsilon is added to both sides.
template <class Number>
double relative_error(Number d, Number g) {
  if (g == 0) d += std::numeric_limits<Number>::epsilon(), g = std::numeric_limits<Number>::epsilon();
  return static_cast<double>(std::fabs(d - g) / std::fabs(g));
}

// msprobe computes relative errors in FLOAT if both sides are FLOAT, FLOAT16 or BF16.
bool is_single(const Pair& pair) {
  return has_detail_rules(pair.device.dtype) && has_detail_rules(pair.golden.dtype);
}

Compared compared(const Pair& pair) {
  Compared result;
  Sum products, devices, goldens, squares;
  const Exponents exponents = exponents_of(pair);
  int64_t below_1 = 0, below_5 = 0;
  const bool in_float = is_single(pair);
  const double limit_1 = in_float ? static_cast<double>(.001F) : .001;
  const double limit_5 = in_float ? static_cast<double>(.005F) : .005;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    result.device_is_finite &= std::isfinite(d);
    result.golden_is_finite &= std::isfinite(g);
    if (!std::isfinite(d) || !std::isfinite(g)) {
      if (d != g && !(std::isnan(d) && std::isnan(g))) result.is_available = false;
      d = g = 0;
    }
    const double error = std::fabs(d - g);
    raise_to(result.largest, error);
    const double relative =
        in_float ? relative_error(static_cast<float>(d), static_cast<float>(g)) : relative_error(d, g);
    raise_to(result.largest_relative, relative);
    below_1 += relative < limit_1 ? 1 : 0;
    below_5 += relative < limit_5 ? 1 : 0;
    const double scaled_d = std::ldexp(d, -exponents.device), scaled_g = std::ldexp(g, -exponents.golden);
    const double scaled_error = std::ldexp(error, -exponents.error);
    products.add(scaled_d * scaled_g);
    devices.add(scaled_d * scaled_d);
    goldens.add(scaled_g * scaled_g);
    squares.add(scaled_error * scaled_error);
  });
  const auto count = static_cast<double>(pair.device.numel());
  result.thousandth = static_cast<double>(below_1) / count;
  result.five_thousandths = static_cast<double>(below_5) / count;
  result.distance = std::ldexp(std::sqrt(squares.value()), exponents.error);
  const double device = std::sqrt(devices.value()), golden = std::sqrt(goldens.value());
  const bool device_is_zero = std::ldexp(device, exponents.device) <= kZero;
  const bool golden_is_zero = std::ldexp(golden, exponents.golden) <= kZero;
  result.cosine = device_is_zero && golden_is_zero   ? 1
                  : device_is_zero || golden_is_zero ? std::nan("")
                                                     : products.value() / (device * golden);
  return result;
}

}  // namespace

// compare: the metrics and the result of msprobe compare. Its result compares inputs and outputs of a call; here inputs are equal,
// so a share of rel < 0.001 below 0.1 is an error, and a cosine below 0.9 a warning. NaN or Inf of the device is an error if the
// golden is finite. Single elements have only the two max errors. Source: mindstudio-probe 26.2.0. NaN or Inf at different places
// and infinities of different signs are an error, although msprobe passes them, and a cosine of NaN is a warning.
Verdict judge_compare(const Pair& pair, const Settings&) {
  constexpr const char* kName = "compare";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  const Compared metrics = compared(pair);
  Judgement judgement(kName);
  const bool is_finite = metrics.device_is_finite || !metrics.golden_is_finite;
  judgement.require("device is finite if the golden is", is_finite ? 1 : 0, is_finite, "1");
  if (!metrics.is_available) {
    judgement.require("NaN and Inf are at equal places", 0, false, "1");
    return judgement.finish();
  }
  if (pair.device.numel() > 1) {
    judgement.require("share of elements with rel < 0.001", metrics.thousandth, metrics.thousandth >= 0.1,
                      ">= 0.1");
    judgement.require("cosine", metrics.cosine, metrics.cosine >= 0.9, ">= 0.9", Result::warning);
    judgement.report("share of elements with rel < 0.005", metrics.five_thousandths);
    judgement.report("Euclidean distance", metrics.distance);
  }
  judgement.report("max abs error", metrics.largest);
  judgement.report("max rel error", metrics.largest_relative);
  return judgement.finish();
}

// graph-compare: an error if cosine < 0.99 and max abs error > 0.001, or cosine < 0.9, or max abs error > 1, or NaN or Inf are at
// different places. Source: graph comparison of MindSpore, "Accuracy Reached or Not".
Verdict judge_graph_compare(const Pair& pair, const Settings&) {
  constexpr const char* kName = "graph-compare";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  const Compared metrics = compared(pair);
  if (!metrics.is_available)
    return failed(kName, "NaN or Inf are at different places, or infinities have different signs");
  Judgement judgement(kName);
  const bool is_near = metrics.cosine >= 0.99 || metrics.largest <= 0.001;
  judgement.require("cosine", metrics.cosine, metrics.cosine >= 0.9 && is_near,
                    ">= 0.9, and >= 0.99 if max abs error > 0.001");
  judgement.require_at_most("max abs error", metrics.largest, 1);
  return judgement.finish();
}

// msaccucmp: the metrics of CANN's msaccucmp, which has no limits: the result is skip. Data are rounded to FLOAT first.
// Source: msaccucmp.py compare of CANN.
Verdict judge_msaccucmp(const Pair& pair, const Settings&) {
  constexpr const char* kName = "msaccucmp";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  Sum products, devices, goldens, errors, squares, relatives;
  double largest = 0, largest_relative = 0;
  for_each_element(pair.device, pair.golden, [&](double device, double golden) {
    const double d = static_cast<float>(device), g = static_cast<float>(golden), error = std::fabs(d - g);
    const double relative = std::fabs(g) <= kZero ? 0 : std::fabs(d / g - 1);
    products.add(d * g);
    devices.add(d * d);
    goldens.add(g * g);
    errors.add(error);
    squares.add(error * error);
    relatives.add(relative);
    raise_to(largest, error);
    raise_to(largest_relative, relative);
  });
  const auto count = static_cast<double>(pair.device.numel());
  const double device = std::sqrt(devices.value()), golden = std::sqrt(goldens.value());
  const bool both_zero = device <= kZero && golden <= kZero;
  const double distance = std::sqrt(squares.value());
  Verdict verdict = skipped(kName, "msaccucmp has no limits, so its metrics are only reported");
  verdict.metrics = {
      {"cosine", count == 1 || both_zero ? 1 : products.value() / (device * golden), "", Result::pass},
      {"max abs error", largest, "", Result::pass},
      {"mean abs error", errors.value() / count, "", Result::pass},
      {"rmse", std::sqrt(squares.value() / count), "", Result::pass},
      {"max rel error", largest_relative, "", Result::pass},
      {"mean rel error", relatives.value() / count, "", Result::pass},
      {"accumulated rel error", relatives.value(), "", Result::pass},
      {"relative Euclidean distance", golden <= kZero ? 0 : distance / golden, "", Result::pass},
  };
  return verdict;
}

}  // namespace openaclnn_judge
