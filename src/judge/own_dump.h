// Reads the folders that this library writes with OPENACLNN_DUMP: call.json and the tensors that the call reads.
#pragma once

#include <string>

#include "judge/dump.h"

namespace openaclnn_judge {

// `call` has no results, because dumps have only what calls read. Arrays without data were not saved: phase 1
// rejected the call, or the operator doesn't read them.
struct OwnDump {
  Call call;
  std::string reason;      // why the call was saved: openaclnn::kSelectedReason, or an error message
  std::string incomplete;  // which tensor was not saved completely and why; empty if all were
};

bool is_own_dump(const std::string& folder);

// Throws files::BadInput with an error message that starts with the folder.
OwnDump load_own_dump(const std::string& folder);

// Visits the call of a folder.
void read_own_dump(const std::string& folder, const VisitCall& visit);

}  // namespace openaclnn_judge
