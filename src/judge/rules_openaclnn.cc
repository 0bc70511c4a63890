// The rule of this library: every element within half an ulp and the bound of the golden.
#include <cmath>

#include "judge/rule_list.h"
#include "judge/verdict.h"
#include "verify/number.h"

namespace openaclnn_judge {

double share_of_allowed(aclDataType dtype, double largest, double d, double exact, double bound) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact)) return std::isnan(d) ? 0 : kWrong;
  if (std::isnan(d)) return kWrong;
  if (std::isinf(exact)) return d == exact ? 0 : kWrong;
  const double magnitude = std::fabs(exact);
  const bool same_sign = std::signbit(d) == std::signbit(exact);
  if (std::isinf(d)) {
    // A correct sum within the bound may round to Inf.
    const double first_infinite = largest + openaclnn_verify::ulp(dtype, largest) / 2;
    return same_sign && (magnitude > largest || magnitude + bound >= first_infinite) ? 0 : kWrong;
  }
  if (magnitude > largest && std::fabs(d) == largest && same_sign) return 0;
  const double error = std::fabs(d - exact);
  return error == 0 ? 0 : error / (openaclnn_verify::ulp(dtype, d) / 2 + bound);
}

// openaclnn: |d - exact| <= ulp(d) / 2 + bound for every element, where bound is c * u * S of the golden: c roundings of the sum S
// of the magnitudes of all terms. An implementation that adds the right terms in any order in FLOAT passes, and a missing term
// fails as soon as it matters. A finite exact value with a NaN bound is not covered: it is left out and counted. Exact NaN needs NaN, exact Inf the same Inf, and
// a number beyond the range Inf or the largest finite number. Source: this library. Integers and bool must be equal.
Verdict judge_openaclnn(const Pair& pair, const Settings&) {
  constexpr const char* kName = "openaclnn";
  if (const auto verdict = unfit(kName, pair, Dtypes::any, Empty::passes)) return *verdict;
  Judgement judgement(kName);
  if (family_of(pair.device.dtype) != Family::floating) {
    judgement.require_zero("wrong elements", static_cast<double>(count_different(pair)));
    return judgement.finish();
  }
  if (pair.bound.empty())
    return skipped(
        kName,
        "the rule openaclnn needs bounds: give --bound FILE, or another rule, such as --rule assert-close");
  if (static_cast<int64_t>(pair.bound.size()) != pair.device.numel())
    return failed(kName, "the golden has another number of bounds than of elements");
  const double largest = openaclnn_verify::largest_finite(pair.device.dtype);
  double worst = 0;
  int64_t wrong = 0, uncovered = 0;
  size_t next = 0;
  for_each_element(pair.device, pair.golden, [&](double d, double exact) {
    const double bound = pair.bound[next++];
    if (std::isnan(bound) && std::isfinite(exact)) {
      ++uncovered;
      return;
    }
    const double share = share_of_allowed(pair.device.dtype, largest, d, exact, bound);
    worst = std::max(worst, share);
    wrong += share <= 1 ? 0 : 1;
  });
  judgement.require_zero("wrong elements", static_cast<double>(wrong));
  judgement.report("largest share of the allowed error", worst);
  judgement.report("elements that no bound covers", static_cast<double>(uncovered));
  return judgement.finish();
}

}  // namespace openaclnn_judge
