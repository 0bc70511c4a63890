// Dumps of the tensors that aclDumpOpTensors names, for an acl.json that asks for dumps.
#pragma once

#include <cstddef>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "base/status.h"

namespace openaclnn {

// aclDumpOpTensors: the first tensors are inputs, the others outputs. NULL tensors are arguments that were not
// given.
Status dump_op_tensors(const char* op_type, const char* op_name, aclTensor* const* tensors, size_t inputs,
                       size_t outputs, aclrtStream stream);

}  // namespace openaclnn
