// aclInit's configuration file: must be readable JSON; its contents have no effect here.
#pragma once

#include "base/status.h"

namespace openaclnn {

// Fails with 100003 (not a readable regular file of at most 1 MiB) or 100006 (not JSON, or nested deeper than 10).
Status check_config_file(const char* path);

}  // namespace openaclnn
