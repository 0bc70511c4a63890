// Contexts and streams, and the life cycle of the process: initialise, set device, finalize.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "base/status.h"
#include "runtime/device.h"
#include "runtime/handle.h"

namespace openaclnn {

struct Context {
  int device = 0;
  void* default_stream = nullptr;        // a stream handle
  std::map<int, int64_t> system_params;  // aclrtCtxSetSysParamOpt; guarded by the table
  std::atomic<bool> ended{false};        // no longer in the table: its streams are going
};

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

using ContextTable = HandleTable<Context, HandleKind::context>;
using StreamTable = HandleTable<Stream, HandleKind::stream>;

// The calling thread's context and its handle; fails (107002) when it has none or it was destroyed.
struct CurrentContext {
  void* handle;
  std::shared_ptr<Context> context;
};
Result<CurrentContext> current_context();

// The stream, or the current context's default stream for nullptr. Fails with 107002, then 107017.
Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream);
// As find_stream; also fails (107003) when the stream belongs to another device than the current context.
Result<std::shared_ptr<Stream>> find_stream_of_device(aclrtStream stream);

// Unreported faults of streams that were destroyed.
void append_orphaned_faults(int device, std::vector<std::shared_ptr<FaultCell>>& cells);
void forget_reported_orphans();

// Life cycle of the process.
Status initialise(const char* config_path);
Status finalize();
Status finalize_reference(uint64_t* references);

// Devices and contexts.
Status require_device(int32_t device);
Status set_device(int32_t device);
Status reset_device(int32_t device, bool force);
Result<void*> create_context(int32_t device);
Status destroy_context(void* context);
Status set_current_context(void* context);

// Streams of the current context.
Result<void*> create_stream();
// Over a stream of the platform's own kind that the program made and keeps.
Result<void*> wrap_stream(void* native);
Status destroy_stream(void* stream, bool drop_pending);

// Appends a task. With `wait` it is done on return, and its own fault is returned (507035) instead of being recorded.
Status submit(const Stream& stream, Task&& task, bool wait);

// Synchronisation: waits until the deadline at most, then returns unreported faults once (507035).
Status synchronize_stream(const Stream& stream, Deadline deadline);
Status synchronize_device(const char* function, Deadline deadline);

// The deadline that a timeout in milliseconds means: -1 is no limit, less is an error.
Result<Deadline> deadline_after(int32_t milliseconds);

// The failure that reports a fault to the caller of a synchronizing function.
Status fault_status(std::string sentence);

}  // namespace openaclnn
