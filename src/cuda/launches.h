// Finds an operator's launch function by name. ops/launches.cc has the table, because devices do not know
// operators.
#pragma once

#include "cuda/launch.h"

namespace openaclnn::cuda {

// Returns nullptr for a name that is not in ops.def.
LaunchFunction find_launch(const char* operator_name);

}  // namespace openaclnn::cuda
