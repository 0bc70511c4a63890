// Reads aclInit's configuration file, acl.json. Its section "dump" is in dump_settings.h; the rest has no
// effect.
#pragma once

#include <string>

#include "base/status.h"

namespace openaclnn {

// Returns the contents, which are valid JSON. Fails with 100003 (not a readable regular file of at most 1 MiB)
// or 100006 (not JSON, or more than 10 nesting levels).
Result<std::string> read_config_file(const char* path);

}  // namespace openaclnn
