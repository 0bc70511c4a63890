// Samples of right and wrong elements, and how well a hypothesis explains them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/errors.h"
#include "verify/sources.h"

namespace openaclnn_judge {

struct Sample {
  int64_t element = 0;
  double device = 0, exact = 0, bound = 0;  // bound: 0 if unknown
  double error = 0;                         // infinite if only one of both is finite
};

struct Samples {
  // At most kMostSamples of each, in the order of elements.
  std::vector<Sample> wrong, right;
  int64_t wrong_elements = 0;  // all of them
  int64_t elements = 0;
  Spacing spacing = Spacing(ACL_FLOAT);
  const Pair* pair = nullptr;

  // The error of a correct result near the device's.
  double allowed(const Sample& sample) const { return spacing.ulp(sample.device) / 2 + sample.bound; }
};
inline constexpr size_t kMostSamples = 4096;

Samples draw_samples(const Pair& pair, int threads);

// A hypothesis predicts the device's number of an element, and how far off it may be.
struct Prediction {
  double value = 0, allowed = 0;
};
using Predict = std::function<std::optional<Prediction>(const Sample&)>;

inline constexpr double kLeastExplained = .9;  // share of the wrong elements

// How well a hypothesis fits.
struct Fit {
  double explained = 0;  // share of the wrong elements
  double right = 1;      // share of the right elements that it predicts as they are
  // The evidence: log2 of how much better it fits than the exact result, over all wrong elements.
  double bits = 0;
  bool is_property = false;  // bits are only estimated

  // The hypothesis explains nearly all wrong elements and contradicts no right ones. Chance alone gives less evidence.
  bool is_convincing(double cost_bits = 0) const {
    constexpr double kLeastRight = .9, kLeastBits = 16;
    return explained >= kLeastExplained && right >= kLeastRight && bits >= kLeastBits + cost_bits;
  }
};
// Hypotheses that explain few wrong elements are given up early, with a fit of 0.
Fit fit_of(const Samples& samples, const Predict& predict);
// Returns the fit of a property that only wrong elements can have. `bits_each`: evidence of one element.
Fit fit_of_property(const Samples& samples, double bits_each, const std::function<bool(const Sample&)>& has);

// A cause that may explain the wrong elements.
struct Explanation {
  Cause cause;
  Fit fit;
};
class Explanations {
 public:
  void add(std::string name, std::string text, const Fit& fit, double cost_bits = 0);
  // Returns the causes that explain about as much as the best one, in the order in which they were added. Predictions with clearly
  // less evidence than another one are left out.
  std::vector<Cause> best() const;

 private:
  std::vector<Explanation> found_;
};

}  // namespace openaclnn_judge
