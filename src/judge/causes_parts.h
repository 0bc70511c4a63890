// The groups of hypotheses about wrong results. Each adds those that explain the samples.
#pragma once

#include "judge/call.h"
#include "judge/sampled_sums.h"
#include "judge/samples.h"

namespace openaclnn_judge {

// Single elements: NaN, infinities, zeros, signs, factors, roundings of the result.
void explain_special_values(const Samples& samples, Explanations& found);
void explain_roundings(const Samples& samples, Explanations& found);
void explain_factors(const Samples& samples, Explanations& found);

// Elements that were not written. `before`: the values before the call of an updated tensor, or nullptr.
void explain_unwritten(const Samples& samples, const Array* before, Explanations& found);

// Elements at other places: transposed, or shifted by rows and elements.
void explain_places(const Samples& samples, Explanations& found);

// Results without any term that are not 0.
void explain_empty_sums(const SampledSums& sums, Explanations& found);

// Terms left out or rounded, and orders of additions.
void explain_sums(const SampledSums& sums, Explanations& found);

}  // namespace openaclnn_judge
