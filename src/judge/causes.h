// Likely causes of wrong results. Each is tested as a hypothesis: would this fault give the device's numbers?
#pragma once

#include <vector>

#include "judge/report.h"

namespace openaclnn_judge {

// Returns the causes that explain about the same share of the wrong elements of one output, the best first. `call` may be
// nullptr: then only causes that need no inputs are tried.
std::vector<Cause> likely_causes(const Call* call, const Pair& pair, int threads);

}  // namespace openaclnn_judge
