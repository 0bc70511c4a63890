// Converts the entries of msprobe's dump.json to calls of operators.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "judge/api_names.h"
#include "judge/call.h"

namespace openaclnn_judge {

// A tensor as dump.json describes it.
struct RecordedTensor {
  std::string file;  // a name without a folder
  aclDataType dtype = ACL_DT_UNDEFINED;
  openaclnn_verify::Shape dims;
};
// Returns the elements. Throws files::BadInput if the file doesn't have this tensor.
using LoadTensor = std::function<Array(const RecordedTensor&)>;

// The entries of one call.
struct ApiEntries {
  const nlohmann::json* forward = nullptr;   // nullptr: not recorded
  const nlohmann::json* backward = nullptr;  // of backward calls
};

// Fills in the arguments and results of a call with the operator's description. Throws files::BadInput for entries that are
// malformed or contradict the function's signature, and NotJudged.
void convert_api_call(const Api& api, const ApiEntries& entries, const LoadTensor& load, Call& call);

}  // namespace openaclnn_judge
