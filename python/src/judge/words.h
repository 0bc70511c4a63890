// Names of arguments and dtypes in Python, for the module openaclnn._judge.
#pragma once

#include <string>
#include <string_view>

#include "verify/description.h"

namespace openaclnn::python {

// "grad_y" for gradY, "var" for varRefs, "input_grad" for inputGradOut.
std::string python_name(const openaclnn_verify::Description& description,
                        const openaclnn_verify::Parameter& parameter);

// Replaces the C names of the arguments in a text.
std::string with_python_names(std::string_view text, const openaclnn_verify::Description& description);

// Returns the dtype of NumPy's text, such as "<f4"; "<V2" is bfloat16. ACL_DT_UNDEFINED: no operator has it.
aclDataType dtype_of_numpy_text(const std::string& text);

}  // namespace openaclnn::python
