// The groups of hypotheses about wrong results. Each adds those that explain the samples.
#pragma once

#include "judge/call.h"
#include "judge/samples.h"
#include "judge/sources.h"

namespace openaclnn_judge {

// Single elements: NaN, infinities, zeros, signs, factors, roundings of the result.
void explain_special_values(const Samples& samples, Explanations& found);
void explain_roundings(const Samples& samples, Explanations& found);
void explain_factors(const Samples& samples, Explanations& found);

// Elements that were not written. `before`: the values before the call of an updated tensor, or nullptr.
void explain_unwritten(const Samples& samples, const Array* before, Explanations& found);

// Elements at other places: transposed, or shifted by rows and elements.
void explain_places(const Samples& samples, Explanations& found);

// Returns so few samples that their terms are soon added.
Samples affordable(const Samples& samples, const openaclnn_verify::FindSources& find,
                   const openaclnn_verify::Place& place);

// The sums of the call: terms left out or rounded, and orders of additions. `place` names the result.
void explain_sums(const Samples& samples, const openaclnn_verify::FindSources& find,
                  const openaclnn_verify::Place& place, Explanations& found);

}  // namespace openaclnn_judge
