// Dumps of tensors that acl.json asks for: those that aclDumpOpTensors names, and those of every call.
#pragma once

#include <cstddef>
#include <memory>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"
#include "base/status.h"
#include "runtime/executor.h"
#include "runtime/stream.h"

namespace openaclnn {

// aclDumpOpTensors: the first tensors are inputs, the others outputs. NULL tensors are arguments that were not
// given.
Status dump_op_tensors(const char* op_type, const char* op_name, aclTensor* const* tensors, size_t inputs,
                       size_t outputs, aclrtStream stream);

// The dump of one call.
struct CallDump;

// Queues the dump of the call's inputs. Returns nullptr if the call isn't dumped. Never fails: a dump that
// cannot be written is logged.
[[gnu::cold]] std::shared_ptr<CallDump> dump_inputs(const Snapshot& snapshot, const Stream& stream) noexcept;

// Queues the dump of the outputs after the call's task.
[[gnu::cold]] void dump_outputs(const std::shared_ptr<CallDump>& dump, const Stream& stream) noexcept;

}  // namespace openaclnn
