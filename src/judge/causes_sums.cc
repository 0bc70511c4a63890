// Causes that show in sums: terms that are missing or rounded, and roundings between additions.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "judge/causes_parts.h"
#include "judge/sum_emulation.h"
#include "verify/source_text.h"

namespace openaclnn_judge {

namespace {

using openaclnn::text;
using openaclnn_verify::ElementSources;
using openaclnn_verify::FindSources;
using openaclnn_verify::Place;
using openaclnn_verify::Term;

// The sums of the samples, collected once: element numbers ascend.
class Sums {
 public:
  Sums(const Samples& samples, const FindSources& find, const Place& place) : samples_(samples) {
    for (const auto* list : {&samples.wrong, &samples.right}) {
      for (const Sample& s : *list) {
        sums_.emplace_back(s.element, find({place.parameter, place.list_index, s.element}));
        has_sums_ = has_sums_ || sums_.back().second.is_sum;
      }
    }
    std::ranges::sort(sums_, {}, [](const auto& entry) { return entry.first; });
  }

  bool has_sums() const { return has_sums_; }
  const ElementSources& of(const Sample& s) const {
    return std::ranges::lower_bound(sums_, s.element, {}, [](const auto& entry) { return entry.first; })
        ->second;
  }

  // How well value(sum) fits. It returns the number that a faulty kernel stores, and its possible error beyond half an ulp.
  using Value = std::function<std::optional<openaclnn_verify::FaultyValue>(const ElementSources&)>;
  Fit fit(const Value& value) const {
    return fit_of(samples_, [&](const Sample& s) -> std::optional<Prediction> {
      const ElementSources& sum = of(s);
      if (!sum.is_sum) return std::nullopt;
      const auto faulty = value(sum);
      if (!faulty) return std::nullopt;
      return Prediction{faulty->value, samples_.spacing.ulp(s.device) / 2 + faulty->bound};
    });
  }

  const Samples& samples() const { return samples_; }

 private:
  const Samples& samples_;
  std::vector<std::pair<int64_t, ElementSources>> sums_;
  bool has_sums_ = false;
};

// The sum of some of the terms, or of changed ones.
template <class Change>
Sums::Value changed_terms(const Change& change) {
  return [change](const ElementSources& sum) -> std::optional<openaclnn_verify::FaultyValue> {
    ElementSources changed = sum;
    change(changed.terms);
    return openaclnn_verify::faulty_sum(changed);
  };
}

void explain_missing_terms(const Sums& sums, Explanations& found) {
  found.add("empty-sums-not-zeroed", "Results without any term are not 0. Write zeros before adding.",
            fit_of_property(sums.samples(), 6, [&](const Sample& s) {
              const ElementSources& sum = sums.of(s);
              return sum.is_sum && sum.terms.empty() && s.device != 0;
            }));
  for (int64_t block = 2; block <= 4096; block *= 2) {
    found.add("remainder-not-added",
              text("Only multiples of ", block,
                   " terms are added. Add the terms after the last full block as well."),
              sums.fit(changed_terms([block](std::vector<Term>& terms) {
                terms.resize(terms.size() - terms.size() % static_cast<size_t>(block));
              })));
  }
  const auto only = [](bool last) {
    return changed_terms([last](std::vector<Term>& terms) {
      if (terms.size() > 1) terms = {last ? terms.back() : terms.front()};
    });
  };
  found.add("terms-overwrite",
            "Only the last term of each sum counts. Add to the result where the device stores.",
            sums.fit(only(true)));
  found.add("terms-overwrite", "Only the first term of each sum counts. Later ones must be added.",
            sums.fit(only(false)));
  // Threads that store at the same time: any one of the terms remains.
  found.add("terms-overwrite",
            "Only one term of each sum counts. Use atomic additions, or sort equal indices.",
            fit_of(sums.samples(),
                   [&](const Sample& s) -> std::optional<Prediction> {
                     const ElementSources& sum = sums.of(s);
                     if (!sum.is_sum || sum.terms.empty()) return std::nullopt;
                     constexpr size_t kMostChoices = 16;  // among more, one is near by chance
                     if (sum.terms.size() > kMostChoices) return std::nullopt;
                     double nearest = HUGE_VAL;
                     for (const Term& term : sum.terms) {
                       const double value = term.one * term.other / sum.divisor;
                       if (std::fabs(value - s.device) < std::fabs(nearest - s.device)) nearest = value;
                     }
                     return Prediction{nearest, sums.samples().spacing.ulp(s.device) / 2};
                   }),
            16);
  found.add("last-term-missing", "The last term of each sum is missing. Check the end of the loop.",
            sums.fit(changed_terms([](std::vector<Term>& terms) {
              if (!terms.empty()) terms.pop_back();
            })));
  found.add("first-term-missing", "The first term of each sum is missing. Check the start of the loop.",
            sums.fit(changed_terms([](std::vector<Term>& terms) {
              if (!terms.empty()) terms.erase(terms.begin());
            })));
  found.add("last-term-twice", "The last term of each sum is added twice. Check the mask of the last block.",
            sums.fit(changed_terms([](std::vector<Term>& terms) {
              if (!terms.empty()) terms.push_back(terms.back());
            })));
  found.add("first-term-twice",
            "The first term of each sum is added twice. Start the accumulator with 0, or the loop with the "
            "second term.",
            sums.fit(changed_terms([](std::vector<Term>& terms) {
              if (!terms.empty()) terms.push_back(terms.front());
            })));
  found.add("mean-instead-of-sum", "The sums are divided by the number of their terms.",
            sums.fit([](const ElementSources& sum) -> std::optional<openaclnn_verify::FaultyValue> {
              ElementSources mean = sum;
              mean.divisor *= std::max(1.0, static_cast<double>(sum.terms.size()));
              return openaclnn_verify::faulty_sum(mean);
            }));
}

void explain_rounded_terms(const Sums& sums, Explanations& found) {
  for (const Narrowing& narrowing : kNarrowings) {
    found.add(
        "inputs-rounded",
        text("The inputs are ", narrowing.text, " before they are used. Turn off ", narrowing.setting, "."),
        sums.fit(changed_terms([&](std::vector<Term>& terms) {
          for (Term& term : terms) term = {narrowing.apply(term.one), narrowing.apply(term.other)};
        })));
  }
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    const Spacing narrow(dtype);
    found.add("products-rounded",
              text("Each product is rounded to ", openaclnn_verify::dtype_name(dtype),
                   " before it is added. Keep products in FLOAT."),
              sums.fit(changed_terms([&](std::vector<Term>& terms) {
                for (Term& term : terms) term = {narrow.round(term.one * term.other), 1};
              })));
  }
  found.add("subnormal-inputs-flushed",
            "Inputs below 2^-126 count as 0. Turn off flushing of subnormal numbers.",
            sums.fit(changed_terms([](std::vector<Term>& terms) {
              const auto flushed = [](double x) { return std::fabs(x) < 0x1p-126 ? 0 : x; };
              for (Term& term : terms) term = {flushed(term.one), flushed(term.other)};
            })));
}

// The device has exactly the bits of sums in another order or precision.
void explain_orders(const Sums& sums, Explanations& found) {
  const Spacing& result = sums.samples().spacing;
  for (const SumOrder& order : sum_orders()) {
    const auto predict = [&](const Sample& s) -> std::optional<Prediction> {
      const ElementSources& sum = sums.of(s);
      if (!sum.is_sum) return std::nullopt;
      // The same bits. Half a quantum only keeps the logarithm of the evidence finite.
      const double value = result.round(order.add(sum.terms) / sum.divisor);
      return Prediction{value, result.ulp(value) / 4};
    };
    found.add(order.is_narrow() ? "16-bit-accumulation" : "order-of-additions", order.text(),
              fit_of(sums.samples(), predict));
  }
}

}  // namespace

Samples affordable(const Samples& samples, const FindSources& find, const Place& place) {
  Samples few = samples;
  few.wrong.clear();
  few.right.clear();
  constexpr int64_t kMostTermsOfAll = 1 << 20;
  int64_t terms = 0;
  // A stride through the samples, so that those that are kept are spread out.
  const auto keep = [&](const std::vector<Sample>& from, std::vector<Sample>& to, int64_t most) {
    constexpr size_t kSteps = 37;
    for (size_t start = 0; start < std::min(kSteps, from.size()) && terms < most; ++start) {
      for (size_t k = start; k < from.size() && terms < most; k += kSteps) {
        to.push_back(from[k]);
        terms += 16 + static_cast<int64_t>(
                          find({place.parameter, place.list_index, from[k].element}).terms.size());
      }
    }
    std::ranges::sort(to, {}, &Sample::element);
  };
  keep(samples.wrong, few.wrong, kMostTermsOfAll * 3 / 4);
  keep(samples.right, few.right, std::max(terms + kMostTermsOfAll / 8, kMostTermsOfAll / 4));
  return few;
}

void explain_sums(const Samples& samples, const FindSources& find, const Place& place, Explanations& found) {
  const Sums sums(samples, find, place);
  if (!sums.has_sums()) return;
  explain_missing_terms(sums, found);
  explain_rounded_terms(sums, found);
  explain_orders(sums, found);
}

}  // namespace openaclnn_judge
