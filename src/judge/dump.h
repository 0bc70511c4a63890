// Reads recorded calls from the folders of dump tools: msprobe, openaclnn's own OPENACLNN_DUMP, and raw files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/call.h"

namespace openaclnn_judge {

// A call found in a dump.
struct DumpedCall {
  Call call;
  // Why it cannot be judged: "its tensors were not saved (task statistics)"; empty: it can.
  std::string skipped;
};
using VisitCall = std::function<void(DumpedCall)>;

// Calls visit() for every call of a folder, in the order of the dump: msprobe's (dump.json, or step*/rank*
// folders of it), openaclnn's (call.json, or folders of it), or tensors of kernels (kernel_dump.h). Calls of
// operators that openaclnn lacks are left out. Only the tensors of one call are in memory, if visit() keeps none. Throws files::BadInput with one
// error message that names the file for malformed dumps, truncated tensors and shapes that contradict each other.
void for_each_dumped_call(const std::string& folder, const VisitCall& visit);

// Returns all calls of a folder with their tensors.
std::vector<DumpedCall> read_dump(const std::string& folder);

}  // namespace openaclnn_judge
