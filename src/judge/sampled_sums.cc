// Collects the terms of samples.
#include "judge/sampled_sums.h"

#include <algorithm>

namespace openaclnn_judge {

using openaclnn_verify::ElementSources;

namespace {

// Elements of one result may be sums or not: a cache has slots that the call doesn't write.
bool are_any_sums(const std::vector<Sample>& samples, const openaclnn_verify::FindSources& find,
                  openaclnn_verify::Place place) {
  constexpr size_t kProbes = 64;
  const size_t step = samples.size() / kProbes + 1;
  for (size_t k = 0; k < samples.size(); k += step) {
    place.element = samples[k].element;
    if (find(place).is_sum) return true;
  }
  return false;
}

}  // namespace

SampledSums::SampledSums(const Samples& samples, const openaclnn_verify::FindSources& find,
                         openaclnn_verify::Place place)
    : find_(find), place_(std::move(place)), samples_(samples) {
  if (!are_any_sums(samples.wrong, find_, place_) && !are_any_sums(samples.right, find_, place_)) return;
  samples_.wrong.clear();
  samples_.right.clear();
  constexpr size_t kMostRight = 512;  // their share need not be known exactly
  constexpr int64_t kMostTerms = 1 << 20;
  collect(samples.wrong, samples_.wrong, kMostSamples, kMostTerms * 3 / 4);
  collect(samples.right, samples_.right, kMostRight, kMostTerms / 4);
  std::ranges::sort(sums_, {}, [](const auto& entry) { return entry.first; });
}

// Takes samples in strides, so that those that are kept are spread out.
void SampledSums::collect(const std::vector<Sample>& from, std::vector<Sample>& to, size_t most_samples,
                          int64_t most_terms) {
  constexpr size_t kStride = 37;
  int64_t terms = 0;
  const auto is_full = [&] { return terms >= most_terms || to.size() >= most_samples; };
  for (size_t start = 0; start < std::min(kStride, from.size()) && !is_full(); ++start) {
    for (size_t k = start; k < from.size() && !is_full(); k += kStride) {
      place_.element = from[k].element;
      ElementSources found = find_(place_);
      found.lines.clear();
      terms += static_cast<int64_t>(found.terms.size());
      to.push_back(from[k]);
      sums_.emplace_back(from[k].element, std::move(found));
    }
  }
  std::ranges::sort(to, {}, &Sample::element);
}

const ElementSources& SampledSums::of(const Sample& sample) const {
  return std::ranges::lower_bound(sums_, sample.element, {}, [](const auto& entry) { return entry.first; })
      ->second;
}

size_t SampledSums::upper_quartile_of_terms() const {
  std::vector<size_t> counts;
  for (const auto& [element, sum] : sums_) counts.push_back(sum.terms.size());
  const auto quartile = counts.begin() + static_cast<ptrdiff_t>(counts.size() * 3 / 4);
  std::ranges::nth_element(counts, quartile);
  return *quartile;
}

Fit SampledSums::fit(const Value& value) const {
  return fit_of(samples_, [&](const Sample& s) -> std::optional<Prediction> {
    const ElementSources& sum = of(s);
    if (!sum.is_sum) return std::nullopt;
    const auto faulty = value(sum);
    if (!faulty) return std::nullopt;
    return Prediction{faulty->value, samples_.spacing.ulp(s.device) / 2 + faulty->bound};
  });
}

}  // namespace openaclnn_judge
