// Names of return codes, for error text and for `openaclnn explain`.
#pragma once

#include <span>

namespace openaclnn {

struct CodeName {
  int code;
  const char* name;
};

// Every nonzero code that a public header defines, and the published codes that none of our functions
// returns.
std::span<const CodeName> code_names();

// A range of codes, and the kind of failure that its codes mean.
struct CodeRange {
  int first, last;
  const char* meaning;
};

// Describes codes that have no name here.
std::span<const CodeRange> code_ranges();

// "ACLNN_ERR_PARAM_INVALID" for 161002; "UNKNOWN" for a code that is not in code_names().
const char* code_name(int code);

}  // namespace openaclnn
