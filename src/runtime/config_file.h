// aclInit's configuration file. It must be readable JSON; its contents have no effect.
#pragma once

#include "base/status.h"

namespace openaclnn {

// Fails with 100003 (not a readable regular file of at most 1 MiB) or 100006 (not JSON, or more than 10
// nesting levels).
Status check_config_file(const char* path);

}  // namespace openaclnn
