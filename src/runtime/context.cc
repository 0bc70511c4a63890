// Contexts, streams and the life cycle of the process.
#include "runtime/context.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "runtime/config_file.h"
#include "runtime/error_text.h"
#include "runtime/event.h"
#include "runtime/executor.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

struct DefaultContext {
  uint64_t references = 0;
  void* handle = nullptr;
};

// A fault of a destroyed stream that nobody has seen yet.
struct OrphanedFault {
  int device;
  uint64_t stream_number;
  std::string sentence;
};

class Process final : public ForkGuarded {
 public:
  static Process& instance() { return *process_; }

  std::mutex mutex;
  uint64_t init_references = 0;
  std::string config_path;
  std::vector<DefaultContext> default_contexts;  // by device; empty before the first aclrtSetDevice
  std::vector<OrphanedFault> orphaned_faults;

  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override { mutex.unlock(); }

 private:
  Process() { register_fork_guarded(LockRank::runtime, this); }

  static Process* const process_;
};

Process* const Process::process_ = new Process;

std::atomic<uint64_t> stream_count{0};

Result<void*> add_stream(void* context, int device, bool is_default) {
  auto stream = std::make_shared<Stream>();
  stream->number = ++stream_count;
  stream->device = device;
  stream->context = context;
  stream->is_default = is_default;
  stream->queue = platform().devices[static_cast<size_t>(device)]->make_queue();
  stream->queue->fault_cell = std::make_shared<FaultCell>(stream->number);
  void* handle = StreamTable::instance().insert(std::move(stream));
  if (handle == nullptr) return Status(ACL_ERROR_RT_NO_STREAM_RESOURCE, "every stream number is in use");
  return handle;
}

// Waits for the stream's work and keeps its unreported fault for the device.
void retire_stream(const std::shared_ptr<Stream>& stream, bool drop_pending) {
  stream->queue->close(drop_pending);
  (void)stream->queue->synchronize(std::nullopt);
  if (std::optional<std::string> sentence = stream->queue->fault_cell->take()) {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    process.orphaned_faults.push_back({stream->device, stream->number, std::move(*sentence)});
  }
}

void destroy_streams_of(void* context) {
  StreamTable& streams = StreamTable::instance();
  for (void* handle : streams.handles_where([&](const Stream& stream) { return stream.context == context; })) {
    if (std::shared_ptr<Stream> stream = streams.remove(handle)) retire_stream(stream, false);
  }
}

Result<void*> make_context(int device) {
  auto context = std::make_shared<Context>();
  context->device = device;
  void* handle = ContextTable::instance().insert(context);
  if (handle == nullptr) return Status(ACL_ERROR_RT_MEMORY_ALLOCATION, "every context number is in use");
  Result<void*> stream = add_stream(handle, device, true);
  if (!stream.ok()) {
    (void)ContextTable::instance().remove(handle);
    return stream.status();
  }
  // Nobody else knows the handle yet, so the context may still be written.
  context->default_stream = *stream;
  return handle;
}

Status stale_context() {
  return {ACL_ERROR_RT_INVALID_HANDLE, "context is not a live context; pass one that aclrtCreateContext returned"};
}

void finalize_everything() {
  Process& process = Process::instance();
  ContextTable& contexts = ContextTable::instance();
  std::vector<void*> handles;
  {
    // Together, so that a device that another thread sets meanwhile gets a new context and keeps it.
    const std::lock_guard lock(process.mutex);
    handles = contexts.handles_where([](const Context&) { return true; });
    process.default_contexts.clear();
  }
  for (void* handle : handles) {
    if (contexts.remove(handle) != nullptr) destroy_streams_of(handle);
  }
  remove_all_events();
  release_fresh_executors();
  const std::lock_guard lock(process.mutex);
  process.orphaned_faults.clear();
}

Status not_initialised() {
  return {ACL_ERROR_REPEAT_FINALIZE, "aclInit was not called, or everything was finalized already"};
}

}  // namespace

Result<CurrentContext> current_context() {
  void* handle = current_context_handle();
  if (handle != nullptr) {
    if (std::shared_ptr<Context> context = ContextTable::instance().find(handle)) return CurrentContext{handle, context};
  }
  return Status(ACL_ERROR_RT_CONTEXT_NULL,
                handle == nullptr ? "this thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext first"
                                  : "this thread's current context was destroyed; set another one first");
}

Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream) {
  Result<CurrentContext> current = current_context();
  if (!current.ok()) return current.status();
  std::shared_ptr<Stream> found =
      StreamTable::instance().find(stream != nullptr ? stream : current->context->default_stream);
  if (found == nullptr) {
    return Status(ACL_ERROR_RT_INVALID_HANDLE,
                  "stream is not a live stream; pass NULL or one that aclrtCreateStream returned");
  }
  return found;
}

Status initialise(const char* config_path) {
  if (config_path != nullptr) OPENACLNN_TRY(check_config_file(config_path));
  const std::string path = config_path != nullptr ? config_path : "";
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  if (process.init_references > 0) {
    if (path != process.config_path) {
      return {ACL_ERROR_INVALID_PARAM, text("configPath is '", path, "' but the process was initialised with '",
                                            process.config_path, "'; they must be the same")};
    }
    ++process.init_references;
    return {ACL_ERROR_REPEAT_INITIALIZE, text("already initialised; this is reference ", process.init_references)};
  }
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
  if (ContextTable::instance().remove(handle) != nullptr) destroy_streams_of(handle);
  return {};
}

Result<void*> create_context(int32_t device) {
  if (Status status = require_device(device); !status.ok()) return status;
  Result<void*> made = make_context(device);
  if (made.ok()) current_context_handle() = *made;
  return made;
}

Status destroy_context(void* context) {
  if (ContextTable::instance().remove(context) == nullptr) return stale_context();
  destroy_streams_of(context);
  return {};
}

Status set_current_context(void* context) {
  if (ContextTable::instance().find(context) == nullptr) return stale_context();
  current_context_handle() = context;
  return {};
}

Result<void*> create_stream() {
  Result<CurrentContext> current = current_context();
  if (!current.ok()) return current.status();
  Result<void*> stream = add_stream(current->handle, current->context->device, false);
  // The context may have been destroyed meanwhile; then nobody would ever destroy this stream.
  if (stream.ok() && ContextTable::instance().find(current->handle) == nullptr) {
    (void)StreamTable::instance().remove(*stream);
    return stale_context();
  }
  return stream;
}

Status destroy_stream(void* handle, bool drop_pending) {
  std::shared_ptr<Stream> stream =
      StreamTable::instance().remove_if(handle, [](const Stream& candidate) { return !candidate.is_default; });
  if (stream == nullptr) {
    return {ACL_ERROR_RT_INVALID_HANDLE,
            "stream is not a live stream of aclrtCreateStream (default streams end with their context)"};
  }
  retire_stream(stream, drop_pending);
  return {};
}

Status fault_status(std::string sentence) { return {ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, std::move(sentence)}; }

Status synchronize_stream(const Stream& stream, Deadline deadline) {
  if (stream.queue->synchronize(deadline) == WaitResult::timed_out) {
    return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, text("stream ", stream.number, " was not done in time; its work goes on")};
  }
  if (std::optional<std::string> sentence = stream.queue->fault_cell->take()) return fault_status(std::move(*sentence));
  return {};
}

Status synchronize_device(const char* function, Deadline deadline) {
  Result<CurrentContext> current = current_context();
  if (!current.ok()) return current.status();
  const int device = current->context->device;
  std::vector<std::shared_ptr<Stream>> streams;
  for (void* handle : StreamTable::instance().handles_where([&](const Stream& s) { return s.device == device; })) {
    if (std::shared_ptr<Stream> stream = StreamTable::instance().find(handle)) streams.push_back(std::move(stream));
  }
  for (const std::shared_ptr<Stream>& stream : streams) {
    if (stream->queue->synchronize(deadline) == WaitResult::timed_out) {
      return {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, text("device ", device, " was not done in time; its work goes on")};
    }
  }
  std::vector<std::pair<uint64_t, std::string>> faults;
  for (const std::shared_ptr<Stream>& stream : streams) {
    if (std::optional<std::string> sentence = stream->queue->fault_cell->take()) {
      faults.emplace_back(stream->number, std::move(*sentence));
    }
  }
  {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    std::erase_if(process.orphaned_faults, [&](OrphanedFault& fault) {
      if (fault.device != device) return false;
      faults.emplace_back(fault.stream_number, std::move(fault.sentence));
      return true;
    });
  }
  if (faults.empty()) return {};
  // Error text lists the newest line first: the highest stream goes in first, the lowest is returned last.
  std::sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t k = 0; k + 1 < faults.size(); ++k) {
    add_error_line(function, faults[k].second, ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  }
  return fault_status(std::move(faults.back().second));
}

Result<Deadline> deadline_after(int32_t milliseconds) {
  if (milliseconds < -1) {
    return Status(ACL_ERROR_RT_PARAM_INVALID,
                  text("timeout is ", milliseconds, "; it must be -1 (no limit) or a number of milliseconds"));
  }
  if (milliseconds == -1) return Deadline{};
  return Deadline{Clock::now() + std::chrono::milliseconds(milliseconds)};
}

}  // namespace openaclnn
