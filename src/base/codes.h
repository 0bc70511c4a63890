// Names of return codes, for error text and for `openaclnn explain`.
#pragma once

#include <span>

namespace openaclnn {

struct CodeName {
  int code;
  const char* name;
};

// Every code that a public header defines, besides 0, and the published ones that no function of ours returns.
std::span<const CodeName> code_names();

// Codes from `first` to `last`, and what kind of failure they tell of.
struct CodeRange {
  int first, last;
  const char* meaning;
};

// What a code tells that has no name here.
std::span<const CodeRange> code_ranges();

// "ACLNN_ERR_PARAM_INVALID" for 161002; "UNKNOWN" for a code that is not in code_names().
const char* code_name(int code);

}  // namespace openaclnn
