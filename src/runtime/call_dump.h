// Dumps of every call, which acl.json asks for.
#pragma once

#include <memory>

#include "runtime/executor.h"
#include "runtime/stream.h"

namespace openaclnn {

// The dump of one call.
struct CallDump;

// Queues the dump of the call's inputs. Returns nullptr if the call isn't dumped. Never fails: a dump that
// cannot be written is logged.
[[gnu::cold]] std::shared_ptr<CallDump> dump_inputs(const Snapshot& snapshot, const Stream& stream) noexcept;

// Queues the dump of the outputs after the call's task.
[[gnu::cold]] void dump_outputs(const std::shared_ptr<CallDump>& dump, const Stream& stream) noexcept;

}  // namespace openaclnn
