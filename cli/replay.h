// Replays dumps of OPENACLNN_DUMP.
#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "verify/judge.h"

namespace openaclnn_cli {

// Returns the folders with a call.json: `path` itself, or its subfolders ordered by name. Throws BadInput if
// there are none.
std::vector<std::string> dump_folders(const std::string& path);

// The contents of a dump, and the result of its call now.
struct Replay {
  std::string operator_name, reason;
  CallResult result;
  bool is_judged = false;  // false if the call failed, or data is missing
};

// Runs the call of one dump and, if it succeeds, judges the results.
Replay replay(const std::string& folder, openaclnn_verify::Judge& judge);

}  // namespace openaclnn_cli
