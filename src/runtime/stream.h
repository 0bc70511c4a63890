// Streams: queues of tasks that belong to a context.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/handle.h"

namespace openaclnn {

// An unreported fault of a stream that was destroyed; its device reports it.
struct OrphanedFault {
  int device;
  std::shared_ptr<FaultCell> cell;
};

struct Stream {
  uint64_t number = 0;  // counted in the process from 1, for error text
  int device = 0;
  std::shared_ptr<Context> context;
  bool is_default = false;
  std::shared_ptr<Queue> queue;
  std::list<OrphanedFault> orphan;  // one node, made in advance: destroying a stream allocates nothing
};

using StreamTable = HandleTable<Stream, HandleKind::stream>;

// The stream, or the current context's default stream for nullptr. Fails with 107002, then 107017.
Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream);
// As find_stream; also fails (107003) when the stream belongs to another device than the current context.
Result<std::shared_ptr<Stream>> find_stream_of_device(aclrtStream stream);

// A stream of a context that nobody can find yet.
Result<void*> make_default_stream(const std::shared_ptr<Context>& context);
// Streams of the current context.
Result<void*> create_stream();
// Over a stream of the platform's own kind that the program made and keeps.
Result<void*> wrap_stream(void* native);
Status destroy_stream(void* stream, bool drop_pending);
// Drains and ends the streams of contexts that have ended. Allocates nothing, so that tearing down cannot fail half way.
void destroy_streams_of_ended_contexts();

// Appends a task. With `wait` it is done on return, and its own fault is returned (507035) instead of being recorded.
Status submit(const Stream& stream, Task&& task, bool wait);

// The failure that reports a fault to the caller of a synchronizing function.
Status fault_status(std::string sentence);

// Unreported faults of streams that were destroyed.
void append_orphaned_faults(int device, std::vector<std::shared_ptr<FaultCell>>& cells);
void forget_reported_orphans();
void forget_all_orphans();

}  // namespace openaclnn
