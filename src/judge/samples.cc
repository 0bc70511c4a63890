// Draws samples and measures how well hypotheses fit.
#include "judge/samples.h"

#include <algorithm>
#include <cmath>

#include "verify/random.h"

namespace openaclnn_judge {

namespace {

// Keeps up to kMostSamples of any number of samples, each with the same chance.
struct Reservoir {
  std::vector<Sample> kept;
  int64_t seen = 0;

  void add(const Sample& sample, openaclnn_verify::Random& random) {
    ++seen;
    if (kept.size() < kMostSamples) {
      kept.push_back(sample);
    } else if (const int64_t at = random.below(seen); at < static_cast<int64_t>(kMostSamples)) {
      kept[static_cast<size_t>(at)] = sample;
    }
  }
};

// Merges the reservoirs of shards into one sample, each with a part as large as its share of the elements.
std::vector<Sample> merged(const std::vector<Reservoir>& shards) {
  int64_t all = 0;
  for (const Reservoir& shard : shards) all += shard.seen;
  std::vector<Sample> samples;
  for (const Reservoir& shard : shards) {
    size_t part = shard.kept.size();
    if (all > static_cast<int64_t>(kMostSamples)) {
      const double share = static_cast<double>(shard.seen) / static_cast<double>(all);
      part = std::min(part, static_cast<size_t>(std::ceil(share * kMostSamples)));
    }
    samples.insert(samples.end(), shard.kept.begin(), shard.kept.begin() + static_cast<int64_t>(part));
  }
  std::ranges::sort(samples, {}, &Sample::element);
  return samples;
}

}  // namespace

Samples draw_samples(const Pair& pair, int threads) {
  const ElementRule rule(pair);
  struct Shard {
    Reservoir wrong, right;
  };
  std::vector<Shard> shards(kShards);
  std::vector<openaclnn_verify::Random> random;
  for (int k = 0; k < kShards; ++k) random.emplace_back(static_cast<uint64_t>(k));
  for_each_tile(pair, threads, [&](int number, const Tile& tile) {
    const auto at = static_cast<size_t>(number);
    for (size_t i = 0; i < tile.device.size(); ++i) {
      Sample sample = {tile.begin + static_cast<int64_t>(i), tile.device[i], tile.exact[i]};
      const double bound = tile.bound.empty() ? 0 : tile.bound[i];
      const ElementError error = rule(sample.device, sample.exact, bound);
      sample.bound = std::isnan(bound) ? 0 : bound;
      sample.error = error.error;
      (error.is_wrong ? shards[at].wrong : shards[at].right).add(sample, random[at]);
    }
  });
  Samples samples;
  samples.pair = &pair;
  samples.spacing = rule.spacing();
  samples.elements = pair.device.numel();
  std::vector<Reservoir> wrong, right;
  for (Shard& shard : shards) {
    samples.wrong_elements += shard.wrong.seen;
    wrong.push_back(std::move(shard.wrong));
    right.push_back(std::move(shard.right));
  }
  samples.wrong = merged(wrong);
  samples.right = merged(right);
  return samples;
}

namespace {

bool is_predicted(const Sample& sample, const Prediction& prediction) {
  if (std::isnan(prediction.value)) return std::isnan(sample.device);
  if (!std::isfinite(prediction.value) || !std::isfinite(sample.device))
    return sample.device == prediction.value;
  const double error = std::fabs(sample.device - prediction.value);
  // Also accepts a kernel of less accuracy, if the hypothesis leaves little of the error.
  constexpr double kLittle = 1.0 / 64;
  return error <= prediction.allowed || error <= kLittle * sample.error;
}

constexpr double kMostBits = 20;  // of one element

bool explains(const Sample& sample, const Predict& predict) {
  const std::optional<Prediction> prediction = predict(sample);
  return prediction && is_predicted(sample, *prediction);
}

// Most hypotheses explain nothing, which a few samples show. They are spread over all, because neighbours are alike.
bool is_hopeless(const std::vector<Sample>& wrong, const Predict& predict) {
  constexpr size_t kProbes = 32;
  constexpr int kMostUnexplained = 12;
  if (wrong.size() < 2 * kProbes) return false;
  int unexplained = 0;
  for (size_t k = 0; k < kProbes && unexplained <= kMostUnexplained; ++k)
    unexplained += explains(wrong[k * wrong.size() / kProbes], predict) ? 0 : 1;
  return unexplained > kMostUnexplained;
}

}  // namespace

Fit fit_of(const Samples& samples, const Predict& predict) {
  Fit fit;
  if (is_hopeless(samples.wrong, predict)) return fit;
  const auto wrong = static_cast<double>(samples.wrong.size());
  double unexplained = 0, consistent = 0, right = 0;
  for (const Sample& sample : samples.wrong) {
    const std::optional<Prediction> prediction = predict(sample);
    if (!prediction || !is_predicted(sample, *prediction)) {
      if (++unexplained > (1 - kLeastExplained) * wrong) return {};
      continue;
    }
    const double rest = std::max(std::fabs(sample.device - prediction->value), prediction->allowed);
    const double gain = std::isfinite(rest) && rest > 0 ? std::log2(sample.error / rest) : kMostBits;
    fit.bits += std::clamp(gain, 0.0, kMostBits);
  }
  if (wrong > 0) fit.explained = (wrong - unexplained) / wrong;
  if (!fit.is_convincing()) return fit;  // whatever the right elements are
  for (const Sample& sample : samples.right) {
    const std::optional<Prediction> prediction = predict(sample);
    if (!prediction) continue;
    ++right;
    const double allowed = std::max(prediction->allowed, samples.allowed(sample));
    if (is_predicted(sample, {prediction->value, allowed})) ++consistent;
  }
  if (right > 0) fit.right = consistent / right;
  return fit;
}

Fit fit_of_property(const Samples& samples, double bits_each, const std::function<bool(const Sample&)>& has) {
  Fit fit;
  if (samples.wrong.empty()) return fit;
  const auto count = static_cast<double>(std::ranges::count_if(samples.wrong, has));
  fit.explained = count / static_cast<double>(samples.wrong.size());
  fit.bits = bits_each * count;
  fit.is_property = true;
  return fit;
}

void Explanations::add(std::string name, std::string text, const Fit& fit, double cost_bits) {
  if (fit.is_convincing(cost_bits))
    found_.push_back({{std::move(name), std::move(text), fit.explained}, fit});
}

std::vector<Cause> Explanations::best() const {
  double most_explained = 0, most_bits = 0;
  for (const Explanation& one : found_) most_explained = std::max(most_explained, one.fit.explained);
  constexpr double kClearlyMore = .02, kNearlyAllBits = .9;
  const auto is_close = [&](const Explanation& one) {
    return one.fit.explained > most_explained - kClearlyMore;
  };
  for (const Explanation& one : found_) {
    if (is_close(one) && !one.fit.is_property) most_bits = std::max(most_bits, one.fit.bits);
  }
  std::vector<Cause> best;
  for (const Explanation& one : found_) {
    if (is_close(one) && (one.fit.is_property || one.fit.bits >= kNearlyAllBits * most_bits))
      best.push_back(one.cause);
  }
  return best;
}

}  // namespace openaclnn_judge
