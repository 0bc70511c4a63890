// Streams: queues of tasks that belong to a context.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "acl/acl_rt.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/handle.h"

namespace openaclnn {

// An unreported fault of a destroyed stream. Its device reports it.
struct OrphanedFault {
  int device;
  std::shared_ptr<FaultCell> cell;
};

struct Stream {
  uint64_t number = 0;  // counted from 1 within the process, for error messages
  int device = 0;
  std::shared_ptr<Context> context;
  bool is_default = false;
  std::shared_ptr<Queue> queue;
  std::atomic<bool> is_claimed{false};  // a call of aclrtDestroyStream or its forced form destroys it
  std::list<OrphanedFault> orphan;      // one preallocated node: destroying a stream allocates nothing
};

using StreamTable = HandleTable<Stream, HandleKind::stream>;

// Returns the stream, or the current context's default stream for nullptr. Fails with 107002, then 107017.
Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream);
// Like find_stream; also fails (107003) if the stream belongs to another device than the current context.
Result<std::shared_ptr<Stream>> find_stream_of_device(aclrtStream stream);

// Creates the stream of a context that is not yet visible to other threads.
Result<void*> make_default_stream(const std::shared_ptr<Context>& context);
// Creates a stream in the current context.
Result<void*> create_stream();
// Creates a stream for a native stream that the program created and continues to own.
Result<void*> wrap_stream(void* native);
Status destroy_stream(void* stream, bool drop_pending);
// Waits for and destroys the streams of contexts that have ended. Allocates nothing, so that it cannot fail
// midway.
void destroy_streams_of_ended_contexts();

// The failure of a call whose stream another thread is destroying.
Status closed_stream();

// Appends a task. With `wait` the task is complete on return, and its fault is returned (507035) instead of
// being recorded.
Status submit(const Stream& stream, Task&& task, bool wait);

// Appends the unreported faults of destroyed streams.
void append_orphaned_faults(int device, std::vector<std::shared_ptr<FaultCell>>& cells);
void forget_reported_orphans();
void forget_all_orphans();

}  // namespace openaclnn
