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
using openaclnn_verify::Term;

// The sum of some of the terms, or of changed ones.
template <class Change>
SampledSums::Value changed_terms(const Change& change) {
  return [change](const ElementSources& sum) -> std::optional<openaclnn_verify::FaultyValue> {
    ElementSources changed = sum;
    change(changed.terms);
    return openaclnn_verify::faulty_sum(changed);
  };
}

void explain_missing_terms(const SampledSums& sums, Explanations& found) {
  // With blocks that are larger than nearly all sums, nothing would be added.
  for (size_t block = 2; block <= std::min<size_t>(sums.upper_quartile_of_terms(), 4096); block *= 2) {
    found.add("remainder-not-added",
              text("Only multiples of ", block,
                   " terms are added. Add the terms after the last full block as well."),
              sums.fit(changed_terms(
                  [block](std::vector<Term>& terms) { terms.resize(terms.size() - terms.size() % block); })));
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

void explain_rounded_terms(const SampledSums& sums, Explanations& found) {
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
void explain_orders(const SampledSums& sums, Explanations& found) {
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

void explain_empty_sums(const SampledSums& sums, Explanations& found) {
  if (!sums.has_sums()) return;
  constexpr double kBitsOfElement = 6;
  found.add("empty-sums-not-zeroed", "Results without any term are not 0. Write zeros before adding.",
            fit_of_property(sums.samples(), kBitsOfElement, [&](const Sample& s) {
              const ElementSources& sum = sums.of(s);
              return sum.is_sum && sum.terms.empty() && s.device != 0;
            }));
}

void explain_sums(const SampledSums& sums, Explanations& found) {
  if (!sums.has_sums()) return;
  explain_missing_terms(sums, found);
  explain_rounded_terms(sums, found);
  explain_orders(sums, found);
}

}  // namespace openaclnn_judge
