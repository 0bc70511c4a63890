// Rules with a tolerance for each element: those of PyTorch, FlagGems, KernelBench and TransformerEngine, and bitwise.
#include <limits>

#include "judge/rule_list.h"
#include "judge/verdict.h"
#include "verify/number.h"

namespace openaclnn_judge {

namespace {

struct Tolerance {
  double relative, absolute;
};

// The defaults of torch.testing.assert_close; integers and bool are exact.
Tolerance torch_defaults(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT16: return {1e-3, 1e-5};
    case ACL_BF16: return {1.6e-2, 1e-5};
    case ACL_FLOAT: return {1.3e-6, 1e-5};
    case ACL_DOUBLE: return {1e-7, 1e-7};
    default: return {0, 0};
  }
}

Tolerance chosen(const Settings& settings, const Tolerance& defaults) {
  return {settings.rtol.value_or(defaults.relative), settings.atol.value_or(defaults.absolute)};
}

struct Mismatches {
  int64_t count = 0;
  double largest_absolute = 0;  // among the mismatches of finite numbers
};

// |d - g| <= absolute + relative * |g|, or d == g. `round_golden` applies to each g first.
template <class RoundGolden>
Mismatches count_mismatches(const Pair& pair, const Tolerance& tolerance, bool equal_nan,
                            const RoundGolden& round_golden) {
  Mismatches found;
  for_each_distance(pair.device, pair.golden, [&](double d, double exact, double distance) {
    const double g = round_golden(exact), error = g == exact ? distance : std::fabs(d - g);
    if (std::isinf(d) && d == g) return;
    if (equal_nan && std::isnan(d) && std::isnan(g)) return;
    if (std::isfinite(error) && error <= tolerance.absolute + tolerance.relative * std::fabs(g)) return;
    ++found.count;
    if (std::isfinite(error)) found.largest_absolute = std::max(found.largest_absolute, error);
  });
  return found;
}

void require_no_mismatch(Judgement& judgement, const Mismatches& found, const Tolerance& tolerance) {
  judgement.report("rtol", tolerance.relative);
  judgement.report("atol", tolerance.absolute);
  judgement.report("max abs error of mismatches", found.largest_absolute);
  judgement.require_zero("mismatched elements", static_cast<double>(found.count));
}

Mismatches mismatches(const Pair& pair, const Tolerance& tolerance, bool equal_nan) {
  return count_mismatches(pair, tolerance, equal_nan, [](double g) { return g; });
}

Tolerance assert_close_tolerance(const Pair& pair) {
  const Tolerance device = torch_defaults(pair.device.dtype), golden = torch_defaults(pair.golden.dtype);
  return {std::max(device.relative, golden.relative), std::max(device.absolute, golden.absolute)};
}

}  // namespace

// bitwise: the bits of the device equal those of the golden. An exact golden is rounded to the dtype of the device, and its
// NaN stands for every NaN. Use it for operators that copy, and between two versions of one kernel.
Verdict judge_bitwise(const Pair& pair, const Settings&) {
  constexpr const char* kName = "bitwise";
  if (const auto verdict = unfit(kName, pair, Dtypes::any, Empty::passes)) return *verdict;
  Judgement judgement(kName);
  judgement.require_zero("elements with different bits", static_cast<double>(count_different_bits(pair)));
  return judgement.finish();
}

// allclose: |d - g| <= atol + rtol * |g| with rtol 1e-5 and atol 1e-8, whatever the dtype. Infinities must be equal.
// Source: torch.allclose. Differences are taken in DOUBLE. The defaults are too strict for 16-bit results.
Verdict judge_allclose(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "allclose";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::passes)) return *verdict;
  const Tolerance tolerance = chosen(settings, {1e-5, 1e-8});
  Judgement judgement(kName);
  require_no_mismatch(judgement, mismatches(pair, tolerance, settings.equal_nan), tolerance);
  return judgement.finish();
}

// assert-close: |d - g| <= atol + rtol * |g| with defaults by dtype: (rtol, atol) is (1e-3, 1e-5) for FLOAT16, (1.6e-2, 1e-5)
// for BF16, (1.3e-6, 1e-5) for FLOAT, (1e-7, 1e-7) for DOUBLE, and (0, 0) for integers. The looser one of two dtypes counts.
// Source: torch.testing.assert_close with check_dtype=False. Use it for tests of PyTorch extensions.
Verdict judge_assert_close(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "assert-close";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::passes)) return *verdict;
  const Tolerance tolerance = chosen(settings, assert_close_tolerance(pair));
  Judgement judgement(kName);
  require_no_mismatch(judgement, mismatches(pair, tolerance, settings.equal_nan), tolerance);
  return judgement.finish();
}

// flaggems: |d - g| <= atol + rtol * |g| with the rtol of assert-close and atol 1e-4 times the length of the reduction, which
// you give as atol. The golden is rounded to the dtype of the device first; integers have rtol 0.
// Source: the accuracy tests of FlagGems.
Verdict judge_flaggems(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "flaggems";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::passes)) return *verdict;
  const aclDataType dtype = pair.device.dtype;
  const Tolerance tolerance = chosen(settings, {torch_defaults(dtype).relative, 1e-4});
  const bool rounds = family_of(dtype) == Family::floating;
  Judgement judgement(kName);
  const Mismatches found = count_mismatches(pair, tolerance, settings.equal_nan, [&](double g) {
    return rounds ? openaclnn_verify::round_to(dtype, g) : g;
  });
  require_no_mismatch(judgement, found, tolerance);
  return judgement.finish();
}

// kernelbench: |d - g| <= t + t * |g| with t = 1e-4 for FLOAT and 1e-2 for FLOAT16 and BF16.
// Source: KernelBench. Every random trial must pass.
Verdict judge_kernelbench(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "kernelbench";
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::passes)) return *verdict;
  const double value = pair.device.dtype == ACL_FLOAT ? 1e-4 : 1e-2;
  const Tolerance tolerance = chosen(settings, {value, value});
  Judgement judgement(kName);
  require_no_mismatch(judgement, mismatches(pair, tolerance, settings.equal_nan), tolerance);
  return judgement.finish();
}

// transformer-engine: the tolerances of assert-close. With a threshold t, a failing pair passes if
// sqrt(mean((d - g)^2)) < t * (largest value of both - smallest value of both).
// Source: the tests of TransformerEngine; they use the second condition for FP8.
Verdict judge_transformer_engine(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "transformer-engine";
  if (const auto verdict = unfit(kName, pair, Dtypes::floating, Empty::passes)) return *verdict;
  const Tolerance tolerance = chosen(settings, assert_close_tolerance(pair));
  const Mismatches found = mismatches(pair, tolerance, settings.equal_nan);
  Judgement judgement(kName);
  if (found.count == 0 || !settings.threshold) {
    require_no_mismatch(judgement, found, tolerance);
    return judgement.finish();
  }
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
  Sum squares;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    smallest = std::min({smallest, d, g});
    largest = std::max({largest, d, g});
    squares.add((d - g) * (d - g));
  });
  judgement.report("mismatched elements", static_cast<double>(found.count));
  const double rmse = std::sqrt(squares.value() / static_cast<double>(pair.device.numel()));
  judgement.require_below("rmse", rmse, *settings.threshold * (largest - smallest));
  return judgement.finish();
}

// attention: |d - g| <= max(|g|, 1) * c with c = 2^-8 for FLOAT16 and 2^-7 for BF16; a threshold replaces c. The tests double c
// for reductions of 2048 terms and more. Source: the attention tests of op-plugin.
Verdict judge_attention(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "attention";
  if (const auto verdict = unfit(kName, pair, Dtypes::floating, Empty::passes)) return *verdict;
  if (!settings.threshold && !is_16_bit(pair.device.dtype))
    return skipped(kName, "the rule attention needs a threshold for dtypes other than FLOAT16 and BF16");
  const double c = settings.threshold.value_or(pair.device.dtype == ACL_BF16 ? 0x1p-7 : 0x1p-8);
  double largest = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    raise_to(largest, std::fabs(d - g) / std::max(std::fabs(g), 1.0));
  });
  Judgement judgement(kName);
  judgement.require_at_most("max of |d - g| / max(|g|, 1)", largest, c);
  return judgement.finish();
}

}  // namespace openaclnn_judge
