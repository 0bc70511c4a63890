// Names of return codes, for error text.
#pragma once

namespace openaclnn {

// "ACLNN_ERR_PARAM_INVALID" for 161002; "UNKNOWN" for a code that no public header defines.
const char* code_name(int code);

}  // namespace openaclnn
