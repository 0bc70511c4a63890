// The rules that one version of msprobe applies to an output.
#include "base/text.h"
#include "judge/msprobe.h"
#include "judge/rule_list.h"
#include "judge/verdict.h"

namespace openaclnn_judge {

namespace {

// quick and one detail rule: the worse result counts. A detail rule that is left out changes nothing.
Verdict worse_of(const char* route, Verdict quick, const Verdict& detail) {
  quick.rule = route;
  for (Metric& metric : quick.metrics) metric.name = "quick: " + metric.name;
  for (Metric metric : detail.metrics) {
    metric.name = openaclnn::text(detail.rule, ": ", metric.name);
    quick.metrics.push_back(metric);
  }
  if (detail.result > quick.result || (quick.reason.empty() && !detail.reason.empty())) {
    quick.reason = openaclnn::text(detail.rule, ": ", detail.reason);
  } else if (!quick.reason.empty()) {
    quick.reason = "quick: " + quick.reason;
  }
  quick.result = std::max(quick.result, detail.result);
  return quick;
}

}  // namespace

// msprobe-26: quick, and benchmark for floating-point outputs or binary for others. The worse of both counts; msprobe 26.2.0
// lets a later warning overwrite an error. Source: mindstudio-probe 26.0.0 to 26.2.0.
Verdict judge_msprobe_26(const Pair& pair, const Settings& settings) {
  const bool is_floating = family_of(pair.device.dtype) == Family::floating;
  return worse_of("msprobe-26", judge_quick(pair, settings),
                  is_floating ? judge_benchmark(pair, settings) : judge_binary(pair, settings));
}

// msprobe-8: quick, and the rule of the list that names the API (absolute, binary, ulp or thousandth), else benchmark with level L0.
// Outputs that are not floating-point numbers always have binary. Source: mindstudio-probe 8.3.3.
Verdict judge_msprobe_8(const Pair& pair, const Settings& settings) {
  Settings level_0 = settings;
  level_0.level = "L0";
  const bool is_floating = family_of(pair.device.dtype) == Family::floating;
  const std::string name = is_floating ? rule_of_api(api_name(settings.api)) : "binary";
  const Verdict detail = pair.device.dtype == ACL_DOUBLE
                             ? skipped(name.c_str(), "msprobe applies only quick to DOUBLE")
                             : find_rule(name)->apply(pair, level_0);
  return worse_of("msprobe-8", judge_quick(pair, settings), detail);
}

}  // namespace openaclnn_judge
