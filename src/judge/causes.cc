// Tests all hypotheses about one output.
#include "judge/causes.h"

#include "judge/causes_parts.h"
#include "judge/sources.h"

namespace openaclnn_judge {

namespace {

using openaclnn_verify::Place;

// "varRefs[2]" names tensor 2 of a list.
Place place_of(const std::string& name) {
  const size_t bracket = name.find('[');
  if (bracket == std::string::npos) return {name};
  return {name.substr(0, bracket), std::stoul(name.substr(bracket + 1))};
}

const Array* value_before(const Call& call, const Place& place) {
  const auto found = call.inputs.find(place.parameter);
  if (found == call.inputs.end() || place.list_index >= found->second.size()) return nullptr;
  return &found->second[place.list_index];
}

// Faults may hold much memory once they are used, so each is released before the next one.
void explain_faults(const Samples& samples, std::vector<openaclnn_verify::Fault> faults, const Place& place,
                    Explanations& found) {
  for (openaclnn_verify::Fault& fault : faults) {
    const auto predict = [&](const Sample& s) -> std::optional<Prediction> {
      const auto faulty = fault.value({place.parameter, place.list_index, s.element});
      if (!faulty) return std::nullopt;
      return Prediction{faulty->value, samples.spacing.ulp(s.device) / 2 + faulty->bound};
    };
    found.add(fault.name, fault.text, fit_of(samples, predict));
    fault.value = nullptr;
  }
}

}  // namespace

std::vector<Cause> likely_causes(const Call* call, const Pair& pair, int threads) {
  if (!has_numbers(pair) || pair.device.numel() == 0) return {};
  const Samples samples = draw_samples(pair, threads);
  if (samples.wrong.empty()) return {};
  Explanations found;
  explain_special_values(samples, found);
  if (call != nullptr && call->description != nullptr) {
    const Place place = place_of(pair.name);
    const Array* const before = value_before(*call, place);
    const PreparedCall prepared(*call);
    const SampledSums sums(samples, prepared.sources(), place);
    explain_faults(sums.samples(), prepared.faults(), place, found);
    explain_empty_sums(sums, found);
    explain_unwritten(samples, before, found);
    explain_sums(sums, found);
  } else {
    explain_unwritten(samples, nullptr, found);
  }
  explain_places(samples, found);
  explain_factors(samples, found);
  explain_roundings(samples, found);
  return found.best();
}

}  // namespace openaclnn_judge
