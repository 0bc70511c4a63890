// Counts references to the process and its devices. Creates and destroys the default contexts.
#include "runtime/process.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/config_file.h"
#include "runtime/context.h"
#include "runtime/dump_folder.h"
#include "runtime/dump_settings.h"
#include "runtime/event.h"
#include "runtime/executor.h"
#include "runtime/fork.h"
#include "runtime/recorder.h"
#include "runtime/stream.h"

namespace openaclnn {

namespace {

struct DefaultContext {
  uint64_t references = 0;
  void* handle = nullptr;
};

struct Process {
  static Process& instance() { return *process_; }

  ForkSafeMutex mutex{LockRank::runtime};
  uint64_t init_references = 0;
  std::string config_path;
  std::vector<DefaultContext> default_contexts;  // one per device; empty before the first aclrtSetDevice

 private:
  static Process* const process_;
};

Process* const Process::process_ = new Process;

// Creates the default stream first, so that no thread finds a context without one.
Result<void*> make_context(int device) {
  auto context = std::make_shared<Context>();
  context->device = device;
  OPENACLNN_TRY_ASSIGN(stream, make_default_stream(context));
  context->default_stream = stream;
  void* handle = nullptr;
  try {
    handle = ContextTable::instance().insert(std::move(context));
  } catch (...) {
    (void)StreamTable::instance().remove(stream);
    throw;
  }
  if (handle != nullptr) return handle;
  (void)StreamTable::instance().remove(stream);
  return Status(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "EL0004 Failed to allocate a context: every number is in use");
}

// Returns false if the handle is not live.
bool end_context(void* handle) {
  const std::shared_ptr<Context> context = ContextTable::instance().remove(handle);
  if (context == nullptr) return false;
  context->ended.store(true);
  destroy_streams_of_ended_contexts();
  return true;
}

// The caller holds the lock. Dumps that are queued are still written.
void stop_dumping() {
  DumpFolder::close();
  recording_state.store(Recording::unknown);  // the environment may also ask for recording
}

void finalize_everything() {
  Process& process = Process::instance();
  {
    // Held for both steps: if another thread sets the device in between, it gets a new context and keeps it.
    const std::lock_guard lock(process.mutex);
    ContextTable::instance().remove_where(
        [](const Context&) { return true; },
        [](const std::shared_ptr<Context>& context) { context->ended.store(true); });
    process.default_contexts.clear();
  }
  destroy_streams_of_ended_contexts();
  remove_all_events();
  release_fresh_executors();
  forget_all_orphans();
}

// Only the settings of dumps have an effect.
Status apply_config_file(const char* path) {
  OPENACLNN_TRY_ASSIGN(json, read_config_file(path));
  OPENACLNN_TRY_ASSIGN(dump, read_dump_settings(json, path));
  if (!dump.is_on) return {};
  OPENACLNN_TRY(DumpFolder::open(std::move(dump), path));
  recording_state.store(Recording::on);
  return {};
}

// An empty path stands for NULL.
std::string path_text(const std::string& path) { return path.empty() ? "NULL" : text("'", path, "'"); }

Status not_initialised() {
  return {ACL_ERROR_REPEAT_FINALIZE, "aclInit was not called, or the process was already finalized"};
}

}  // namespace

Status initialise(const char* config_path) {
  std::string path = config_path != nullptr ? config_path : "";
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  if (process.init_references > 0) {
    if (path != process.config_path) {
      return {ACL_ERROR_INVALID_PARAM,
              text("configPath is ", path_text(path), " but the process was initialised with ",
                   path_text(process.config_path), "; they must be the same")};
    }
    ++process.init_references;
    return {ACL_ERROR_REPEAT_INITIALIZE,
            text("already initialised; this is reference ", process.init_references)};
  }
  if (!path.empty()) OPENACLNN_TRY(apply_config_file(config_path));
  process.config_path = std::move(path);  // cannot fail, so a failed aclInit turned nothing on
  process.init_references = 1;
  return {};
}

Status finalize() {
  {
    Process& process = Process::instance();
    const std::lock_guard lock(process.mutex);
    if (process.init_references == 0) return not_initialised();
    process.init_references = 0;
    stop_dumping();
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
    if (left == 0) stop_dumping();
  }
  if (left == 0) finalize_everything();
  *references = left;
  return {};
}

Status set_device(int32_t device) {
  OPENACLNN_TRY(require_device(device));
  Process& process = Process::instance();
  const std::lock_guard lock(process.mutex);
  process.default_contexts.resize(platform().devices.size());
  DefaultContext& entry = process.default_contexts[static_cast<size_t>(device)];
  // If the caller destroyed the default context itself, setting the device creates a new one.
  if (entry.references == 0 || ContextTable::instance().find(entry.handle) == nullptr) {
    OPENACLNN_TRY_ASSIGN(made, make_context(device));
    entry.handle = made;
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
  (void)end_context(handle);  // false: the caller destroyed it itself
  return {};
}

Result<void*> create_context(int32_t device) {
  OPENACLNN_TRY(require_device(device));
  Result<void*> made = make_context(device);
  if (made.ok()) current_context_handle() = *made;
  return made;
}

Status destroy_context(void* context) { return end_context(context) ? Status() : stale_context(context); }

}  // namespace openaclnn
