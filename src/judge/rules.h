// Acceptance rules: whether the results of a device are close enough to the golden. Each rule is one function
// with its published definition.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/array.h"
#include "verify/zeroed.h"

namespace openaclnn_judge {

using openaclnn_verify::Array;

// From best to worst: the result of several is the largest.
enum class Result { skip, pass, warning, error };
const char* result_name(Result result);  // "skip", "pass", "warning", "error"

// What is compared: one result of one call.
struct Pair {
  std::string name;                       // "weightGradOut"
  Array device;                           // the judged result
  Array golden;                           // the reference; exact values have dtype DOUBLE
  openaclnn_verify::ZeroedDoubles bound;  // of openaclnn's golden, see verify/golden.h; empty: unknown
  std::optional<Array> third;             // the same result of a third device, for ratio rules
};

// Choices of the user. judge_call and judge_pair reject those that no chosen rule uses.
struct Settings {
  std::string api;    // "npu_nsa_compress": chooses the level and list of msprobe's rules
  std::string level;  // "L0", "L1", "L2"; empty: by the api
  std::optional<double> threshold;
  std::optional<double> rtol, atol;
  bool equal_nan = false;
};

struct Metric {
  std::string name;  // "share of elements with rel < 0.001"
  double value = 0;
  std::string accepted;  // "> 0.999"; empty: only reported
  Result result = Result::pass;
};

struct Verdict {
  std::string rule;
  Result result = Result::skip;
  std::string reason;  // one sentence; empty if the result is pass
  std::vector<Metric> metrics;
};

// The needs of a rule besides the result and its golden, and the settings that change it.
enum Use : unsigned { kNothing = 0, kThird = 1, kBound = 2, kLevel = 4, kThreshold = 8, kTolerances = 16 };

struct Rule {
  const char* name;     // "quick"
  const char* summary;  // one line
  const char* source;   // where it is published
  unsigned uses;        // the union of Use
  Verdict (*apply)(const Pair& pair, const Settings& settings);
};

// Returns |d - exact| / (ulp(d) / 2 + bound), the share of the error that the rule openaclnn allows: at most 1 for a correct result of a
// floating-point dtype. Infinity: NaN or Inf at the wrong place. `largest`: the largest finite number of the dtype.
double share_of_allowed(aclDataType dtype, double largest, double d, double exact, double bound);

std::span<const Rule> rules();
// Returns nullptr if no rule has this name.
const Rule* find_rule(std::string_view name);

}  // namespace openaclnn_judge
