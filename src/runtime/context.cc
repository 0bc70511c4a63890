// Contexts, streams and the life cycle of the process.
#include "runtime/context.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "runtime/config_file.h"
#include "runtime/error_text.h"
#include "runtime/event.h"
#include "runtime/executor.h"
#include "runtime/fork.h"
#include "runtime/recycle.h"

namespace openaclnn {

namespace {

struct DefaultContext {
  uint64_t references = 0;
  void* handle = nullptr;
};

class Process final : public ForkGuarded {
 public:
  static Process& instance() { return *process_; }

  std::mutex mutex;
  uint64_t init_references = 0;
  std::string config_path;
  std::vector<DefaultContext> default_contexts;  // by device; empty before the first aclrtSetDevice
  std::list<OrphanedFault> orphaned_faults;      // the first of them, at most kMostOrphans

  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override { mutex.unlock(); }

 private:
  Process() { register_fork_guarded(LockRank::runtime, this); }

  static Process* const process_;
};

Process* const Process::process_ = new Process;

std::atomic<uint64_t> stream_count{0};

// A program that destroys faulting streams and never synchronises the device must not collect records without bound.
constexpr size_t kMostOrphans = 1024;

Device& device_of(const Context& context) { return *platform().devices[static_cast<size_t>(context.device)]; }

Result<void*> add_stream(const std::shared_ptr<Context>& context, bool is_default,
                         std::shared_ptr<Queue> queue) {
  auto stream = std::make_shared<Stream>();
  stream->number = ++stream_count;
  stream->device = context->device;
  stream->context = context;
  stream->is_default = is_default;
  stream->queue = std::move(queue);
  stream->queue->fault_cell = std::make_shared<FaultCell>(stream->number);
  stream->orphan.push_back({context->device, stream->queue->fault_cell});
  void* handle = StreamTable::instance().insert(std::move(stream));
  if (handle == nullptr) return Status(ACL_ERROR_RT_NO_STREAM_RESOURCE, "every stream number is in use");
  return handle;
}

// Waits for the work of a stream that left the table, and keeps its unreported fault for the device. Allocates nothing on the CPU.
void retire_stream(Stream& stream, bool drop_pending) {
  stream.queue->close(drop_pending);
  (void)stream.queue->synchronize(std::nullopt);
  if (!stream.queue->fault_cell->filled()) return;
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  if (process.orphaned_faults.size() < kMostOrphans) {
    process.orphaned_faults.splice(process.orphaned_faults.end(), stream.orphan);
  }
}

// Drains and ends the streams of contexts that have ended. Allocates nothing, so that tearing down cannot fail half way.
void destroy_streams_of_ended_contexts() {
  StreamTable::instance().remove_where([](const Stream& stream) { return stream.context->ended.load(); },
                                       [](const std::shared_ptr<Stream>& stream) {
                                         try {
                                           retire_stream(*stream, false);
                                         } catch (const std::exception&) {
                                           // The device is gone, and its work with it: what is left is taken down all the same.
                                         }
                                       });
}

Status stale_context(const void* handle) {
  return {ACL_ERROR_RT_INVALID_HANDLE, text("context is not a live context (", address_text(handle),
                                            "); pass one that aclrtCreateContext returned")};
}

// The default stream is made first, so that nobody ever finds a context without one.
Result<void*> make_context(int device) {
  auto context = std::make_shared<Context>();
  context->device = device;
  Result<void*> stream = add_stream(context, true, device_of(*context).make_queue());
  if (!stream.ok()) return stream.status();
  context->default_stream = *stream;
  void* handle = nullptr;
  try {
    handle = ContextTable::instance().insert(std::move(context));
  } catch (...) {
    (void)StreamTable::instance().remove(*stream);
    throw;
  }
  if (handle != nullptr) return handle;
  (void)StreamTable::instance().remove(*stream);
  return Status(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "EL0004 Failed to allocate a context: every number is in use");
}

// False when the handle is not live.
bool end_context(void* handle) {
  const std::shared_ptr<Context> context = ContextTable::instance().remove(handle);
  if (context == nullptr) return false;
  context->ended.store(true);
  destroy_streams_of_ended_contexts();
  return true;
}

void finalize_everything() {
  Process& process = Process::instance();
  {
    // Together, so that a device that another thread sets meanwhile gets a new context and keeps it.
    const std::lock_guard lock(process.mutex);
    ContextTable::instance().remove_where(
        [](const Context&) { return true; },
        [](const std::shared_ptr<Context>& context) { context->ended.store(true); });
    process.default_contexts.clear();
  }
  destroy_streams_of_ended_contexts();
  remove_all_events();
  release_fresh_executors();
  const std::lock_guard lock(process.mutex);
  process.orphaned_faults.clear();
}

Status no_context() {
  return {ACL_ERROR_RT_CONTEXT_NULL,
          current_context_handle() == nullptr
              ? "this thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext first"
              : "this thread's current context was destroyed; set another one first"};
}

struct StreamOfCaller {
  std::shared_ptr<Stream> stream;
  int context_device;
};

// Every launch and every synchronize comes here, so the context is read under its lock instead of being shared.
Result<StreamOfCaller> look_up(aclrtStream stream) {
  int device = 0;
  void* handle = stream;
  const bool has_context =
      ContextTable::instance().with(current_context_handle(), [&](const std::shared_ptr<Context>& context) {
        device = context->device;
        if (stream == nullptr) handle = context->default_stream;
      });
  if (!has_context) return no_context();
  if (Status status = require_usable_platform(); !status.ok()) return status;
  std::shared_ptr<Stream> found = StreamTable::instance().find(handle);
  if (found != nullptr) return StreamOfCaller{std::move(found), device};
  return Status(ACL_ERROR_RT_INVALID_HANDLE, text("stream is not a live stream (", address_text(stream),
                                                  "); pass NULL or one that aclrtCreateStream returned"));
}

Status not_initialised() {
  return {ACL_ERROR_REPEAT_FINALIZE, "aclInit was not called, or everything was finalized already"};
}

}  // namespace

void append_orphaned_faults(int device, std::vector<std::shared_ptr<FaultCell>>& cells) {
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  for (const OrphanedFault& orphan : process.orphaned_faults) {
    if (orphan.device == device) cells.push_back(orphan.cell);
  }
}

void forget_reported_orphans() {
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  process.orphaned_faults.remove_if([](const OrphanedFault& orphan) { return !orphan.cell->filled(); });
}

Result<CurrentContext> current_context() {
  void* handle = current_context_handle();
  std::shared_ptr<Context> context = ContextTable::instance().find(handle);
  if (context == nullptr) return no_context();
  if (Status status = require_usable_platform(); !status.ok()) return status;
  return CurrentContext{handle, std::move(context)};
}

Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream) {
  Result<StreamOfCaller> found = look_up(stream);
  if (!found.ok()) return found.status();
  return std::move(found->stream);
}

Result<std::shared_ptr<Stream>> find_stream_of_device(aclrtStream stream) {
  Result<StreamOfCaller> found = look_up(stream);
  if (!found.ok()) return found.status();
  if (found->stream->device != found->context_device) {
    return Status(ACL_ERROR_RT_STREAM_CONTEXT,
                  text("stream belongs to device ", found->stream->device,
                       " but the current context to device ", found->context_device));
  }
  return std::move(found->stream);
}

Status initialise(const char* config_path) {
  const std::string path = config_path != nullptr ? config_path : "";
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  if (process.init_references > 0) {
    if (path != process.config_path) {
      return {ACL_ERROR_INVALID_PARAM,
              text("configPath is '", path, "' but the process was initialised with '", process.config_path,
                   "'; they must be the same")};
    }
    ++process.init_references;
    return {ACL_ERROR_REPEAT_INITIALIZE,
            text("already initialised; this is reference ", process.init_references)};
  }
  if (config_path != nullptr) OPENACLNN_TRY(check_config_file(config_path));
  process.config_path = path;
  process.init_references = 1;
  return {};
}

Status finalize() {
  {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    if (process.init_references == 0) return not_initialised();
    process.init_references = 0;
  }
  finalize_everything();
  return {};
}

Status finalize_reference(uint64_t* references) {
  uint64_t left = 0;
  {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    if (process.init_references == 0) return not_initialised();
    left = --process.init_references;
  }
  if (left == 0) finalize_everything();
  *references = left;
  return {};
}

Status require_device(int32_t device) {
  OPENACLNN_TRY(require_usable_platform());
  const size_t count = platform().devices.size();
  if (count == 0) return {ACL_ERROR_RT_NO_DEVICE, platform().why_none};
  if (device >= 0 && static_cast<size_t>(device) < count) return {};
  return {ACL_ERROR_RT_INVALID_DEVICEID, text("deviceId is ", device, "; it must be in [0, ", count, ")")};
}

Status set_device(int32_t device) {
  OPENACLNN_TRY(require_device(device));
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  process.default_contexts.resize(platform().devices.size());
  DefaultContext& entry = process.default_contexts[static_cast<size_t>(device)];
  // A caller may also have destroyed the default context by hand; then the next one to set the device gets a new one.
  if (entry.references == 0 || ContextTable::instance().find(entry.handle) == nullptr) {
    Result<void*> made = make_context(device);
    if (!made.ok()) return made.status();
    entry.handle = *made;
  }
  ++entry.references;
  current_context_handle() = entry.handle;
  return {};
}

Status reset_device(int32_t device, bool force) {
  OPENACLNN_TRY(require_device(device));
  void* handle = nullptr;
  {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    if (process.default_contexts.empty()) return {};
    DefaultContext& entry = process.default_contexts[static_cast<size_t>(device)];
    if (entry.references == 0) return {};
    entry.references = force ? 0 : entry.references - 1;
    if (entry.references > 0) return {};
    handle = entry.handle;
    entry.handle = nullptr;
  }
  (void)end_context(handle);  // false: it was destroyed by hand
  return {};
}

Result<void*> create_context(int32_t device) {
  if (Status status = require_device(device); !status.ok()) return status;
  Result<void*> made = make_context(device);
  if (made.ok()) current_context_handle() = *made;
  return made;
}

Status destroy_context(void* context) { return end_context(context) ? Status() : stale_context(context); }

Status set_current_context(void* context) {
  if (ContextTable::instance().find(context) == nullptr) return stale_context(context);
  current_context_handle() = context;
  return {};
}

namespace {

// make_queue(device) returns the new stream's queue, or why there is none.
template <class MakeQueue>
Result<void*> create_stream_over(const MakeQueue& make_queue) {
  Result<CurrentContext> current = current_context();
  if (!current.ok()) return current.status();
  Result<std::shared_ptr<Queue>> queue = make_queue(device_of(*current->context));
  if (!queue.ok()) return queue.status();
  Result<void*> stream = add_stream(current->context, false, std::move(*queue));
  // The context may have been destroyed meanwhile; then nobody would ever destroy this stream.
  if (stream.ok() && current->context->ended.load()) {
    (void)StreamTable::instance().remove(*stream);
    return stale_context(current->handle);
  }
  return stream;
}

}  // namespace

Result<void*> create_stream() {
  return create_stream_over(
      [](Device& device) -> Result<std::shared_ptr<Queue>> { return device.make_queue(); });
}

Result<void*> wrap_stream(void* native) {
  return create_stream_over([&](Device& device) -> Result<std::shared_ptr<Queue>> {
    std::shared_ptr<Queue> queue = device.wrap_stream(native);
    if (queue != nullptr) return queue;
    return Status(
        ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
        "nativeStream cannot be wrapped: the CPU platform has no streams of its own kind; native streams "
        "are those of CUDA, with OPENACLNN_DEVICE=cuda");
  });
}

Status destroy_stream(void* handle, bool drop_pending) {
  // A stream that cannot be waited for now keeps its handle.
  const std::shared_ptr<Stream> known = StreamTable::instance().find(handle);
  if (known != nullptr && !known->is_default) OPENACLNN_TRY(known->queue->can_be_awaited());
  std::shared_ptr<Stream> stream = StreamTable::instance().remove_if(
      handle, [](const Stream& candidate) { return !candidate.is_default; });
  if (stream == nullptr) {
    return {ACL_ERROR_RT_INVALID_HANDLE,
            text("stream is not a live stream of aclrtCreateStream (", address_text(handle),
                 "); default streams end with their context")};
  }
  retire_stream(*stream, drop_pending);
  return {};
}

}  // namespace openaclnn
