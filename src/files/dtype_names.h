// Names of dtypes as tools write them: "torch.float16", "Float16", "float16", "FP16", "ACL_FLOAT16".
#pragma once

#include <string>
#include <string_view>

#include "acl/acl_base.h"

namespace openaclnn_files {

// Returns ACL_DT_UNDEFINED for unknown names.
aclDataType dtype_named(std::string_view name);

// Returns "torch.float16", or an empty text for dtypes that PyTorch lacks.
std::string torch_name(aclDataType dtype);

}  // namespace openaclnn_files
