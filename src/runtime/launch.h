// Phase 2: runs an executor on a stream.
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"
#include "aclnn/aclnn_base.h"
#include "base/status.h"
#include "runtime/call.h"

namespace openaclnn {

// Checks the executor, the stream, the workspace and the addresses, in this order, and enqueues the task. In
// blocking and in strict mode the task is complete on return, and its fault is returned. `function` is the one
// that the caller called: "aclnnApplyAdamWV2". It must live forever.
Status launch(const char* function, const Operator& op, void* workspace, uint64_t workspace_bytes,
              aclOpExecutor* executor, aclrtStream stream);

}  // namespace openaclnn
