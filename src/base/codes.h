// Names of return codes, for error text.
#pragma once

#include <span>

namespace openaclnn {

struct CodeName {
  int code;
  const char* name;
};

// Every code that a public header defines, besides 0.
std::span<const CodeName> code_names();

// "ACLNN_ERR_PARAM_INVALID" for 161002; "UNKNOWN" for a code that no public header defines.
const char* code_name(int code);

}  // namespace openaclnn
