// Causes that the numbers of single elements show.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/causes_parts.h"
#include "judge/words.h"

namespace openaclnn_judge {

namespace {

// Single corrupted bits change signs, double numbers and make infinities, so fewer than three elements prove nothing.
constexpr double kBitsOfSpecialValue = 6;
constexpr double kCostOfPlainFactor = 28;

// Results that are rounded to another dtype on the way: it has fewer digits than the device's.
void explain_narrow_results(const Samples& samples, Explanations& found) {
  if (samples.pair->device.dtype != ACL_FLOAT) return;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    const Spacing narrow(dtype);
    const auto is_narrow = [&](const Sample& s) {
      return std::isfinite(s.device) && s.device != 0 && narrow.round(s.device) == s.device &&
             std::fabs(s.device - s.exact) <= narrow.ulp(s.exact) + s.bound;
    };
    // A number of FLOAT is one of the narrow dtype by a chance of 2^-13 or less.
    const Fit fit = fit_of_property(samples, 23 - narrow.digits(), is_narrow);
    found.add("result-rounded-to-16-bits",
              openaclnn::text("Every wrong result is a number of ", openaclnn_verify::dtype_name(dtype),
                              ". Store the accumulator as FLOAT, without a conversion in between."),
              fit);
  }
}

}  // namespace

void explain_special_values(const Samples& samples, Explanations& found) {
  const auto is_largest = [&](double value) { return std::fabs(value) == samples.spacing.largest(); };
  found.add("nan-not-propagated",
            "The exact result is NaN, but the device has a number. Use operations that keep NaN, such as a "
            "maximum that returns it.",
            fit_of_property(samples, kBitsOfSpecialValue,
                            [](const Sample& s) { return std::isnan(s.exact) && !std::isnan(s.device); }));
  if (samples.spacing.is_float()) {
    found.add(
        "saturated",
        "The device has the largest finite number where the exact result is infinite. Turn off saturation in "
        "conversions.",
        fit_of_property(samples, kBitsOfSpecialValue, [&](const Sample& s) {
          return std::fabs(s.exact) > samples.spacing.largest() && is_largest(s.device);
        }));
    const double smallest = samples.spacing.smallest_normal();
    found.add("subnormals-flushed",
              "Results below the normal numbers of the dtype are 0. Turn off flushing of subnormal numbers.",
              fit_of_property(samples, kBitsOfSpecialValue, [smallest](const Sample& s) {
                return s.device == 0 && s.exact != 0 && std::fabs(s.exact) < smallest;
              }));
  }
  found.add("not-finite",
            "The device has infinities or NaN where the exact result fits into the dtype. An intermediate "
            "result leaves the range, or memory was not initialised.",
            fit_of_property(samples, kBitsOfSpecialValue, [&](const Sample& s) {
              return !std::isfinite(s.device) && std::isfinite(s.exact) &&
                     std::fabs(s.exact) <= samples.spacing.largest();
            }));
}

void explain_roundings(const Samples& samples, Explanations& found) {
  explain_narrow_results(samples, found);
  if (!samples.spacing.is_float()) return;
  // Half of the truncated elements may be right within the bound, so right elements count as well.
  struct Direction {
    const char* name;
    const char* text;
    double (*sign)(double exact);  // of the error
  };
  static constexpr Direction kDirections[] = {
      {"truncated", "The results are cut off toward zero. Round to nearest even in the last conversion.",
       [](double exact) { return exact < 0 ? 1.0 : -1.0; }},
      {"rounded-up",
       "The results are rounded toward plus infinity. Round to nearest even in the last conversion.",
       [](double) { return 1.0; }},
      {"rounded-down",
       "The results are rounded toward minus infinity. Round to nearest even in the last conversion.",
       [](double) { return -1.0; }},
      {"rounded-away",
       "The results are rounded away from zero. Round to nearest even in the last conversion.",
       [](double exact) { return exact < 0 ? -1.0 : 1.0; }}};
  for (const Direction& direction : kDirections) {
    double sum = 0;
    int64_t directed = 0, all = 0;
    const auto look = [&](const Sample& s) {
      if (!std::isfinite(s.exact) || !std::isfinite(s.device) || s.device == s.exact) return;
      const double ulp = samples.spacing.ulp(s.exact), error = (s.device - s.exact) * direction.sign(s.exact);
      ++all;
      if (error >= -s.bound - 1e-9 * ulp && error < ulp * (1 + 1e-9) + s.bound) ++directed;
      sum += error / ulp;
    };
    for (const Sample& s : samples.wrong) look(s);
    for (const Sample& s : samples.right) look(s);
    const auto count = static_cast<double>(all);
    constexpr int64_t kLeast = 16;
    // The mean error of inexact results is half an ulp.
    if (all < kLeast || static_cast<double>(directed) < .97 * count || sum < .25 * count || sum > .75 * count)
      continue;
    const Fit fit = fit_of_property(samples, 1, [&](const Sample& s) {
      const double error = (s.device - s.exact) * direction.sign(s.exact);
      return error > 0 && error < samples.spacing.ulp(s.exact) * (1 + 1e-9) + s.bound;
    });
    found.add(direction.name, direction.text, fit);
  }
}

void explain_factors(const Samples& samples, Explanations& found) {
  const auto scaled = [&](double factor) {
    return fit_of(samples, [&, factor](const Sample& s) -> std::optional<Prediction> {
      return Prediction{factor * s.exact, samples.spacing.ulp(s.device) / 2 + std::fabs(factor) * s.bound};
    });
  };
  // Right elements are those near zero, or those that the fault leaves out.
  const auto wrong_only = [](Fit fit) {
    fit.right = 1;
    return fit;
  };
  found.add("sign-flipped", "The results have the opposite sign.", wrong_only(scaled(-1)),
            kCostOfPlainFactor);
  found.add("counted-twice", "The results are twice as large as they should be. Each term is added twice.",
            wrong_only(scaled(2)), kCostOfPlainFactor);
  std::vector<double> factors;
  for (const Sample& s : samples.wrong) {
    if (std::isfinite(s.device) && std::isfinite(s.exact) && s.exact != 0 && s.device != 0)
      factors.push_back(s.device / s.exact);
  }
  constexpr size_t kLeast = 4;
  if (factors.size() < kLeast) return;
  std::ranges::nth_element(factors, factors.begin() + static_cast<int64_t>(factors.size() / 2));
  const double middle = factors[factors.size() / 2];
  // One quotient is as inaccurate as one result, so the factor is a least-squares fit over the results near it.
  double products = 0, squares = 0;
  for (const Sample& s : samples.wrong) {
    const double scale =
        std::ldexp(1.0, -std::ilogb(s.exact == 0 || !std::isfinite(s.exact) ? 1.0 : s.exact));
    if (!std::isfinite(s.device) ||
        std::fabs(s.device - middle * s.exact) > 2 * samples.spacing.ulp(s.device))
      continue;
    products += s.device * scale * (s.exact * scale);
    squares += s.exact * scale * (s.exact * scale);
  }
  const double factor = squares > 0 ? products / squares : middle;
  // Directed roundings have factors near 1.
  constexpr double kLeastUlps = 4;
  if (std::fabs(factor - 1) < std::ldexp(kLeastUlps, -samples.spacing.digits())) return;
  constexpr double kBitsOfFactor = 24;
  found.add("scaled-by-constant",
            "The results are " + number_text(factor, 6) +
                " times as large as they should be. A factor is missing, applied twice, or wrong.",
            wrong_only(scaled(factor)), kBitsOfFactor);
}

}  // namespace openaclnn_judge
