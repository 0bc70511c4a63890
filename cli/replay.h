// Replays dumps of OPENACLNN_DUMP.
#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "verify/judge.h"

namespace openaclnn_cli {

// Returns the folders with a call.json: `path` itself, or its subfolders in the order of the calls. Throws
// BadInput if there are none.
std::vector<std::string> dump_folders(const std::string& path);

// The contents of a dump, and the result of its call now.
struct Replay {
  std::string operator_name, reason;
  CallResult result;
  // Empty if the call succeeded, as it did when it was saved, and its results were judged.
  std::string problem;
};

// Runs the call of one dump and, if it succeeds, judges the results. Throws BadInput if the dump is malformed.
Replay replay(const std::string& folder, openaclnn_verify::Judge& judge);

}  // namespace openaclnn_cli
