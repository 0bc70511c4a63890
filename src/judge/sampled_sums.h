// The terms of the samples of one result.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "judge/samples.h"
#include "verify/sources.h"

namespace openaclnn_judge {

// Collects the terms once, for so few samples that hypotheses about all of them are soon tested.
class SampledSums {
 public:
  // `place` names the result.
  SampledSums(const Samples& samples, const openaclnn_verify::FindSources& find,
              openaclnn_verify::Place place);

  // The samples whose terms were collected. For results that are not sums: all of them.
  const Samples& samples() const { return samples_; }
  bool has_sums() const { return !sums_.empty(); }
  const openaclnn_verify::ElementSources& of(const Sample& sample) const;
  size_t upper_quartile_of_terms() const;  // of the numbers of terms

  // How well value(sum) fits. It returns the number that a faulty kernel stores, and its possible error beyond half an ulp.
  using Value =
      std::function<std::optional<openaclnn_verify::FaultyValue>(const openaclnn_verify::ElementSources&)>;
  Fit fit(const Value& value) const;

 private:
  void collect(const std::vector<Sample>& from, std::vector<Sample>& to, size_t most_samples,
               int64_t most_terms);

  openaclnn_verify::FindSources find_;
  openaclnn_verify::Place place_;
  Samples samples_;
  std::vector<std::pair<int64_t, openaclnn_verify::ElementSources>> sums_;  // by element, ascending
};

}  // namespace openaclnn_judge
