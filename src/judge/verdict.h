// Builds verdicts: collects metrics, and names the worst in the reason.
#pragma once

#include <string>

#include "judge/elements.h"
#include "judge/words.h"

namespace openaclnn_judge {

class Judgement {
 public:
  explicit Judgement(const char* rule) { verdict_.rule = rule; }

  // Adds a metric that decides nothing.
  void report(const std::string& name, double value) {
    verdict_.metrics.push_back({name, value, "", Result::pass});
  }
  // Adds a metric that gives `otherwise` if the value is not accepted.
  void require(const std::string& name, double value, bool is_accepted, const std::string& accepted,
               Result otherwise = Result::error);
  // Each adds a metric with one limit. NaN is never accepted.
  void require_below(const std::string& name, double value, double limit) {
    require(name, value, value < limit, "< " + number_text(limit));
  }
  void require_at_most(const std::string& name, double value, double limit) {
    require(name, value, value <= limit, "<= " + number_text(limit));
  }
  void require_above(const std::string& name, double value, double limit) {
    require(name, value, value > limit, "> " + number_text(limit));
  }
  void require_zero(const std::string& name, double value) { require(name, value, value == 0, "0"); }

  // The verdict: the worst result of the metrics.
  Verdict finish();

 private:
  Verdict verdict_;
};

Verdict skipped(const char* rule, const std::string& reason);
Verdict failed(const char* rule, const std::string& reason);

enum class Dtypes { msprobe, floating, real, any };  // msprobe: FLOAT16, BF16 and FLOAT
enum class Empty { skips, passes };

// Returns the verdict if the rule cannot measure the pair: shapes differ, there is no data, or the rule is not defined for the dtypes.
std::optional<Verdict> unfit(const char* rule, const Pair& pair, Dtypes dtypes, Empty empty,
                             bool needs_third = false);

}  // namespace openaclnn_judge
