// Rules on statistics of whole outputs: mere-mare, acceptance, dynamo, and those of MindSpore.
#include <cmath>

#include "judge/msprobe.h"
#include "judge/rule_list.h"
#include "judge/verdict.h"

namespace openaclnn_judge {

namespace {

constexpr double kAdded = 1e-7;  // to denominators

struct RelativeErrors {
  double largest = 0, mean = 0, rmse = 0;
  int64_t wrong_small = 0;
};

// Elements with |g| < small count in wrong_small if their error is above small_error, and nowhere else.
RelativeErrors relative_errors(const Array& device, const Array& golden, double small = 0,
                               double small_error = 0) {
  RelativeErrors errors;
  Sum relatives, squares;
  int64_t normal = 0;
  for_each_element(device, golden, [&](double d, double g) {
    const double error = std::fabs(d - g);
    if (std::fabs(g) < small) {
      errors.wrong_small += error <= small_error ? 0 : 1;
      return;
    }
    ++normal;
    const double relative = error / (std::fabs(g) + kAdded);
    raise_to(errors.largest, relative);
    relatives.add(relative);
    squares.add(error * error);
  });
  if (normal == 0) return errors;
  errors.mean = relatives.value() / static_cast<double>(normal);
  errors.rmse = std::sqrt(squares.value() / static_cast<double>(normal));
  return errors;
}

double rmse_of(const Array& device, const Array& golden) { return relative_errors(device, golden).rmse; }

}  // namespace

// mere-mare: MERE = mean and MARE = max of |d - g| / (|g| + 1e-7). MERE < t and MARE < 10 * t pass. t is 2^-13 for FLOAT,
// 2^-10 for FLOAT16 and 2^-7 for BF16; a threshold replaces it. RMSE is only reported. NaN and Inf fail, even at equal places.
// Source: the standard for contributed operators of the CANN repositories. Use it for operators without a GPU twin.
Verdict judge_mere_mare(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "mere-mare";
  if (const auto verdict = unfit(kName, pair, Dtypes::floating, Empty::skips)) return *verdict;
  if (!settings.threshold && !has_detail_rules(pair.device.dtype))
    return skipped(kName, "the rule mere-mare needs a threshold for DOUBLE");
  const double by_dtype = pair.device.dtype == ACL_FLOAT16 ? 0x1p-10
                          : pair.device.dtype == ACL_BF16  ? 0x1p-7
                                                           : 0x1p-13;
  const double threshold = settings.threshold.value_or(by_dtype);
  const RelativeErrors errors = relative_errors(pair.device, pair.golden);
  Judgement judgement(kName);
  judgement.require_below("MERE", errors.mean, threshold);
  judgement.require_below("MARE", errors.largest, 10 * threshold);
  judgement.report("RMSE", errors.rmse);
  return judgement.finish();
}

// acceptance: MARE, MERE and RMSE of the elements that are not small, each divided by that of a third result + 1e-7, have the
// limits of the level (10, 2, 2 for L0; 5, 1.5, 1.5 for L1; 2, 1.2, 1.2 for L2). The count of wrong small elements may be at
// most twice that of the third result. Small is |g| < 2^-11 (FLOAT16), 2^-8 (BF16) or 2^-14 (FLOAT), and wrong is an error above
// 2^-16, 2^-16 or 2^-30. Source: tests of op-plugin. The denominators differ among their files.
Verdict judge_acceptance(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "acceptance";
  const RatioLimits limits = ratio_limits(level_of(settings));
  if (const auto verdict = unfit(kName, pair, Dtypes::msprobe, Empty::skips, true)) return *verdict;
  const double small = msprobe_limits(pair.device.dtype).ratio_floor;
  const double small_error = is_16_bit(pair.device.dtype) ? 0x1p-16 : 0x1p-30;
  const RelativeErrors device = relative_errors(pair.device, pair.golden, small, small_error);
  const RelativeErrors third = relative_errors(*pair.third, pair.golden, small, small_error);
  Judgement judgement(kName);
  judgement.require_at_most("ratio of MARE", device.largest / (third.largest + kAdded), limits.largest);
  judgement.require_at_most("ratio of MERE", device.mean / (third.mean + kAdded), limits.mean);
  judgement.require_at_most("ratio of RMSE", device.rmse / (third.rmse + kAdded), limits.rmse);
  const double others = std::max(static_cast<double>(third.wrong_small), 1.0);
  judgement.require_at_most("ratio of wrong small elements", static_cast<double>(device.wrong_small) / others,
                            2);
  return judgement.finish();
}

// dynamo: RMSE(device) <= k * RMSE(third) + tol / 10 with k = 3 for 16 bits or fewer than 1000 elements, else 2. The third result
// is the reference in the dtype of the device. tol is the threshold, or 1e-4. Source: same() of TorchDynamo with an FP64
// reference; its larger k for tiny tensors are left out.
Verdict judge_dynamo(const Pair& pair, const Settings& settings) {
  constexpr const char* kName = "dynamo";
  if (const auto verdict = unfit(kName, pair, Dtypes::floating, Empty::passes, true)) return *verdict;
  const double k = is_16_bit(pair.device.dtype) || pair.device.numel() < 1000 ? 3 : 2;
  const double third = rmse_of(*pair.third, pair.golden);
  Judgement judgement(kName);
  judgement.report("RMSE of the third result", third);
  judgement.require_at_most("RMSE", rmse_of(pair.device, pair.golden),
                            k * third + settings.threshold.value_or(1e-4) / 10);
  return judgement.finish();
}

// mindspore: (1e-8 + d.g) / (1e-8 + |d| |g|) > 0.99 and max |d - g| < 0.001. Source: msprobe acc_check for MindSpore.
Verdict judge_mindspore(const Pair& pair, const Settings&) {
  constexpr const char* kName = "mindspore";
  if (const auto verdict = unfit(kName, pair, Dtypes::real, Empty::skips)) return *verdict;
  Sum products, devices, goldens;
  double largest = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double g) {
    products.add(d * g);
    devices.add(d * d);
    goldens.add(g * g);
    raise_to(largest, std::fabs(d - g));
  });
  const double norms = std::sqrt(devices.value()) * std::sqrt(goldens.value());
  Judgement judgement(kName);
  judgement.require_above("cosine", (1e-8 + products.value()) / (1e-8 + norms), 0.99);
  judgement.require_below("max abs error", largest, 0.001);
  return judgement.finish();
}

}  // namespace openaclnn_judge
