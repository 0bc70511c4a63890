// System parameters (aclrtSetSysParamOpt and those of a context): stored and returned, with no effect on
// results.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace openaclnn {

Status set_system_param(int option, int64_t value);
Result<int64_t> system_param(int option);
Status set_context_param(int option, int64_t value);
Result<int64_t> context_param(int option);

}  // namespace openaclnn
