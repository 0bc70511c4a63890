// Finding an operator's launch by its name; the table is ops/launches.cc, since devices do not know operators.
#pragma once

#include "cuda/launch.h"

namespace openaclnn::cuda {

// nullptr for a name that is not in ops.def.
LaunchFunction find_launch(const char* operator_name);

}  // namespace openaclnn::cuda
