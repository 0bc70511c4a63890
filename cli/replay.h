// Dumps of OPENACLNN_DUMP, run again.
#pragma once

#include <string>
#include <vector>

#include "call.h"
#include "verify/judge.h"

namespace openaclnn_cli {

// Folders with a call.json: `path` itself, or those in it, in the order of their names. Throws BadInput when there is none.
std::vector<std::string> dump_folders(const std::string& path);

// What a dump says, and how its call ends now.
struct Replay {
  std::string operator_name, reason;
  CallResult result;
  bool is_judged = false;  // false: it failed, or data is missing
};

// Runs the call of one dump and, when it succeeds, has the results judged.
Replay replay(const std::string& folder, openaclnn_verify::Judge& judge);

}  // namespace openaclnn_cli
