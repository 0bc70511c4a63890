// Reads the folders of msprobe's PrecisionDebugger: dump.json beside a folder of tensors.
#pragma once

#include <string>
#include <string_view>

#include "judge/api_call.h"
#include "judge/dump.h"

namespace openaclnn_judge {

bool is_msprobe_dump(const std::string& folder);

// Throws files::BadInput with an error message that starts with the file.
void read_msprobe_dump(const std::string& folder, const VisitCall& visit);

// Visits the calls in the text of a dump.json. Throws files::BadInput with an error message about the text.
void visit_msprobe_calls(std::string_view dump_json, const LoadTensor& load, const VisitCall& visit);

}  // namespace openaclnn_judge
