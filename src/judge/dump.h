// Reads recorded calls from the folders of dump tools: msprobe, openaclnn's own OPENACLNN_DUMP, and raw files.
#pragma once

#include <string>
#include <vector>

#include "judge/call.h"

namespace openaclnn_judge {

// A call found in a dump.
struct DumpedCall {
  Call call;
  std::string
      skipped;  // why it cannot be judged: "its tensors were not saved (task statistics)"; empty: it can
};

// Reads a folder: msprobe's (dump.json, or step*/rank* folders of it), or openaclnn's (call.json, or folders
// of it). Calls of operators that openaclnn lacks are left out. Throws files::BadInput with one
// error message that names the file for malformed dumps, truncated tensors and shapes that contradict each other.
std::vector<DumpedCall> read_dump(const std::string& folder);

}  // namespace openaclnn_judge
