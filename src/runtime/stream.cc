// Creates, finds and destroys streams, and enqueues tasks.
#include "runtime/stream.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "runtime/fork.h"
#include "runtime/recycle.h"

namespace openaclnn {

namespace {

// Unreported faults of destroyed streams: the first kMostOrphans.
struct Orphans {
  ForkSafeMutex mutex{LockRank::runtime};
  std::list<OrphanedFault> faults;
};
Orphans* const orphans = new Orphans;

// Bounds the memory of a program that destroys faulting streams and never synchronises the device.
constexpr size_t kMostOrphans = 1024;

std::atomic<uint64_t> stream_count{0};

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

// make_queue(device) returns the new stream's queue, or why it failed.
template <class MakeQueue>
Result<void*> create_stream_over(const MakeQueue& make_queue) {
  OPENACLNN_TRY_ASSIGN(current, current_context());
  OPENACLNN_TRY_ASSIGN(queue, make_queue(device_of(*current.context)));
  Result<void*> stream = add_stream(current.context, false, std::move(queue));
  // If another thread has destroyed the context, nothing else would destroy this stream.
  if (stream.ok() && current.context->ended.load()) {
    (void)StreamTable::instance().remove(*stream);
    return no_context();
  }
  return stream;
}

// Waits for the tasks of a stream, removes it from the table, and keeps its unreported fault for the device. Until
// its tasks are complete, other threads find it: those that end its context or wait for its device also wait for
// them. The one that removes it keeps the fault. Allocates nothing on the CPU.
void retire_stream(void* handle, Stream& stream, bool drop_pending) {
  try {
    stream.queue->close(drop_pending);
    (void)stream.queue->synchronize(std::nullopt);
  } catch (...) {
    (void)StreamTable::instance().remove(handle);
    throw;
  }
  if (StreamTable::instance().remove(handle) == nullptr || !stream.queue->fault_cell->filled()) return;
  const std::lock_guard lock(orphans->mutex);
  if (orphans->faults.size() < kMostOrphans) orphans->faults.splice(orphans->faults.end(), stream.orphan);
}

struct StreamOfCaller {
  std::shared_ptr<Stream> stream;
  int context_device;
};

// Every launch and every synchronize calls this, so the context is read under its lock instead of being
// shared.
Result<StreamOfCaller> look_up(aclrtStream stream) {
  int device = 0;
  void* handle = stream;
  const bool has_context =
      ContextTable::instance().with(current_context_handle(), [&](const std::shared_ptr<Context>& context) {
        device = context->device;
        if (stream == nullptr) handle = context->default_stream;
      });
  if (!has_context) return no_context();
  OPENACLNN_TRY(require_usable_platform());
  std::shared_ptr<Stream> found = StreamTable::instance().find(handle);
  if (found != nullptr) return StreamOfCaller{std::move(found), device};
  return Status(ACL_ERROR_RT_INVALID_HANDLE, text("stream is not a live stream (", address_text(stream),
                                                  "); pass NULL or one that aclrtCreateStream returned"));
}

}  // namespace

Result<std::shared_ptr<Stream>> find_stream(aclrtStream stream) {
  OPENACLNN_TRY_ASSIGN(found, look_up(stream));
  return std::move(found.stream);
}

Result<std::shared_ptr<Stream>> find_stream_of_device(aclrtStream stream) {
  OPENACLNN_TRY_ASSIGN(found, look_up(stream));
  if (found.stream->device != found.context_device) {
    return Status(ACL_ERROR_RT_STREAM_CONTEXT,
                  text("stream belongs to device ", found.stream->device,
                       " but the current context belongs to device ", found.context_device));
  }
  return std::move(found.stream);
}

Result<void*> make_default_stream(const std::shared_ptr<Context>& context) {
  return add_stream(context, true, device_of(*context).make_queue());
}

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
        "nativeStream cannot be wrapped: the CPU platform has no native streams; only CUDA streams can be "
        "wrapped, with OPENACLNN_DEVICE=cuda");
  });
}

Status destroy_stream(void* handle, bool drop_pending) {
  const std::shared_ptr<Stream> stream = StreamTable::instance().find(handle);
  if (stream != nullptr && !stream->is_default) {
    // A stream that cannot be waited for now keeps its handle.
    OPENACLNN_TRY(stream->queue->can_be_awaited());
    if (!stream->is_claimed.exchange(true)) {
      retire_stream(handle, *stream, drop_pending);
      return {};
    }
  }
  return {ACL_ERROR_RT_INVALID_HANDLE,
          text("stream is not a live stream that aclrtCreateStream returned (", address_text(handle),
               "); default streams are destroyed with their context")};
}

void destroy_streams_of_ended_contexts() {
  StreamTable::instance().for_each_where([](const Stream& stream) { return stream.context->ended.load(); },
                                         [](void* handle, const std::shared_ptr<Stream>& stream) {
                                           try {
                                             retire_stream(handle, *stream, false);
                                           } catch (const std::exception&) {
                                             // The device is lost with its work. The remaining objects are destroyed nevertheless.
                                           }
                                         });
}

Status closed_stream() { return {ACL_ERROR_RT_INVALID_HANDLE, "stream is being destroyed"}; }

Status submit(const Stream& stream, Task&& task, bool wait) {
  std::shared_ptr<FaultCell> report;
  if (wait) OPENACLNN_TRY(stream.queue->can_be_awaited());
  if (wait) task.report = report = make_recycled<FaultCell>(stream.number);
  if (!stream.queue->enqueue(std::move(task))) return closed_stream();
  if (!wait) return {};
  (void)stream.queue->synchronize(std::nullopt);
  return report->take();
}

void append_orphaned_faults(int device, std::vector<std::shared_ptr<FaultCell>>& cells) {
  const std::lock_guard lock(orphans->mutex);
  for (const OrphanedFault& orphan : orphans->faults) {
    if (orphan.device == device) cells.push_back(orphan.cell);
  }
}

void forget_reported_orphans() {
  const std::lock_guard lock(orphans->mutex);
  orphans->faults.remove_if([](const OrphanedFault& orphan) { return !orphan.cell->filled(); });
}

void forget_all_orphans() {
  const std::lock_guard lock(orphans->mutex);
  orphans->faults.clear();
}

}  // namespace openaclnn
