// The section "dump" of acl.json, the configuration file of aclInit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace openaclnn {

struct DumpSettings {
  bool is_on = false;
  std::string path;     // absolute
  bool inputs = false;  // which tensors of a call are written
  bool outputs = false;
  std::vector<std::string> names;  // of the operators that are dumped; empty: all
};

// Interprets the contents of acl.json, which must be JSON. `file`: its path, for error messages.
//
// The section is on if "dump_op_switch" is "on". Otherwise it has no effect, whatever it contains: it then only
// asks for dumps of models, which this library doesn't run. Fails (100009) if a section that is on has a
// member that would change what is dumped, and that this library doesn't follow.
Result<DumpSettings> read_dump_settings(std::string_view json, const std::string& file);

}  // namespace openaclnn
