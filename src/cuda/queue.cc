// Passes tasks to CUDA. After they complete, records their faults and releases their memory.
#include "cuda/queue.h"

#include <algorithm>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/task_fault.h"

namespace openaclnn::cuda {

namespace {

// The queue checks for completed tasks at least once per this many tasks, so that its lists stay bounded.
constexpr uint64_t kTasksPerMark = 64;

bool writes(const Task& task, const MemoryRange& range) {
  const auto meets_range = [&](const MemoryRange& written) { return written.meets(range); };
  return std::ranges::any_of(task.written, meets_range) ||
         (task.lists != nullptr && std::ranges::any_of(task.lists->written, meets_range));
}

Status being_captured() {
  return {
      ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
      "stream is being captured into a CUDA graph, so it cannot be waited for; end the capture and launch "
      "the graph first"};
}

}  // namespace

// CUDA would reject the query and invalidate a capture that is still in progress.
void CudaMarker::require_time() const {
  if (!captured_) return;
  throw DeviceFailure(Status(
      ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
      "event was recorded while a CUDA graph was captured, so it is a point in the graph, not in time; to "
      "query it, wait for it or measure with it, record it outside of captures"));
}

WaitResult CudaMarker::synchronize(Deadline deadline) {
  require_time();
  if (driver_.wait_for(*event_, deadline) == WaitResult::timed_out) return WaitResult::timed_out;
  if (const std::shared_ptr<CudaQueue> queue = queue_.lock()) queue->settle();
  return WaitResult::done;
}

double CudaMarker::milliseconds_since(const Marker& start) const {
  float milliseconds = 0;
  driver_.call(&PluginTable::elapsed, static_cast<const CudaMarker&>(start).event_->handle, event_->handle,
               &milliseconds);
  return milliseconds;
}

bool start_copy(Driver& driver, void* stream, void* destination, const void* source, const CopyShape& shape) {
  if (shape.is_empty()) return false;
  const size_t operations = shape.is_plain() ? 1 : shape.rows;
  const size_t bytes = shape.rows * shape.width / operations;
  bool has_pageable = false;
  for (size_t k = 0; k < operations; ++k) {
    int is_pageable = 0;
    driver.call(&PluginTable::copy_async, stream,
                static_cast<char*>(destination) + k * shape.destination_pitch,
                static_cast<const char*>(source) + k * shape.source_pitch, bytes, &is_pageable);
    has_pageable = has_pageable || is_pageable != 0;
  }
  return has_pageable;
}

CudaQueue::~CudaQueue() {
  for (void* const event : {side_.ready, side_.done}) {
    if (event != nullptr) driver_.call_quietly(&PluginTable::destroy_event, event);
  }
  if (side_.stream != nullptr) driver_.call_quietly(&PluginTable::destroy_stream, side_.stream);
  if (owner_ == Owner::library) driver_.call_quietly(&PluginTable::destroy_stream, stream_);
  // Tasks pending here were not waited for, so they may still run. Their slots stay allocated, like those of
  // captured tasks, because a graph may outlive the stream. A host function needs its task.
  for (size_t k = 0; k < pending_.size(); ++k) {
    if (pending_[k]->task.on_host && driver_.is_usable()) (void)pending_[k].release();
  }
}

// Only streams of the program can be captured: ours are not visible outside, and wait_for() does not let them
// join a capture.
bool CudaQueue::is_capturing() const {
  if (owner_ == Owner::library) return false;
  int capturing = 0;
  driver_.call(&PluginTable::is_capturing, stream_, &capturing);
  return capturing != 0;
}

std::optional<uint64_t> CudaQueue::enqueue(Task&& task) {
  driver_.require_usable();
  const Lock lock(mutex_);
  if (closed_) return std::nullopt;
  const bool capturing = is_capturing();
  if (capturing && task.on_host) {
    throw DeviceFailure(Status(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                               text("stream is being captured into a CUDA graph, which cannot contain ",
                                    task.name, "; call it before or after the capture")));
  }
  if (!capturing && tasks_ % kTasksPerMark == 0 && !pending_.empty()) {
    (void)mark(lock);
    settle(lock);
  }
  auto made = std::make_unique<Pending>(Pending{tasks_ + 1, std::move(task), nullptr, this});
  Pending& pending = *made;
  if (pending.task.run != nullptr && !pending.task.on_host) pending.slot = slots_.take();
  try {
    capturing ? captured_.push_back(std::move(made)) : pending_.push_back(std::move(made));
  } catch (...) {
    if (pending.slot != nullptr) slots_.give_back(pending.slot);
    throw;
  }
  // The task counts from here on, even if it fails, because part of it may have started.
  ++tasks_;
  if (!capturing) ++appended_;
  try {
    start(pending, lock);
  } catch (...) {
    pending.task.check = CheckMode::silent;  // the caller gets the error now
    throw;
  }
  return pending.number;
}

void CudaQueue::start(Pending& pending, const Lock& lock) {
  Task& task = pending.task;
  if (task.on_host) {
    driver_.call(&PluginTable::call_async, stream_, run_on_host, static_cast<void*>(&pending));
  } else if (task.run == nullptr) {
    const auto& transfer = *static_cast<const Transfer*>(task.plan.get());
    if (transfer.shape.is_empty()) return;
    if (transfer.is_fill) {
      driver_.call(&PluginTable::fill_async, stream_, task.data[0], static_cast<int>(transfer.value),
                   transfer.shape.width);
    } else if (start_copy(driver_, stream_, task.data[0], task.data[1], transfer.shape)) {
      wait_for_copy(lock);
    }
  } else {
    const OperatorTask launched{
        task.op,        task.plan.get(), &task.data,
        task.workspace, task.check,      task.lists != nullptr ? task.lists->addresses.data() : nullptr,
        pending.slot,   piece_.get(),    &side_};
    driver_.call(&PluginTable::run, stream_, &launched);
  }
}

// The caller may reuse or read the memory after the call. A graph copies when it runs.
void CudaQueue::wait_for_copy(const Lock& lock) {
  if (const std::shared_ptr<DeviceEvent> last = mark(lock)) (void)driver_.wait_for(*last, std::nullopt);
}

// Runs on a thread of the driver, which must not call CUDA.
void CudaQueue::run_on_host(void* pending) noexcept {
  const Task& task = static_cast<const Pending*>(pending)->task;
  (void)task.run(task.plan.get(), TaskIo{task.data, task.workspace, task.check});
}

std::shared_ptr<DeviceEvent> CudaQueue::mark(const Lock&) {
  if (!marks_.empty() && marks_.back().appended == appended_ && owner_ == Owner::library)
    return marks_.back().event;
  if (is_capturing()) return nullptr;
  std::shared_ptr<DeviceEvent> event = driver_.record(stream_, false);
  // The program may have begun a capture in between. Querying an event that became part of it would
  // invalidate it.
  if (is_capturing()) return nullptr;
  remember(event);
  return event;
}

// A mark is only needed if it follows tasks that no earlier mark follows. There are therefore never more
// marks than tasks.
void CudaQueue::remember(const std::shared_ptr<DeviceEvent>& event) {
  const uint64_t marked = marks_.empty() ? 0 : marks_.back().tasks;
  if (!pending_.empty() && pending_.back()->number > marked) marks_.push_back({appended_, tasks_, event});
}

void CudaQueue::settle() {
  driver_.require_usable();
  settle(Lock(mutex_));
}

void CudaQueue::settle(const Lock&) {
  while (!marks_.empty()) {
    const EventState state = driver_.state_of(*marks_.front().event);
    if (state == EventState::ahead) return;
    const uint64_t appended = marks_.front().appended, passed = marks_.front().tasks;
    marks_.pop_front();
    if (state == EventState::captured)
      continue;  // captured by a very short capture; a later mark covers these tasks
    finished_ = std::max(finished_, appended);
    while (!pending_.empty() && pending_.front()->number <= passed) {
      harvest(*pending_.front());
      if (pending_.front()->slot != nullptr) slots_.give_back(pending_.front()->slot);
      pending_.pop_front();
    }
  }
}

// Replays of a graph may write their slots at any time while they run.
void CudaQueue::harvest_replays() {
  const Lock lock(mutex_);
  if (captured_.empty() || !idle()) return;
  for (const std::unique_ptr<Pending>& replayed : captured_) {
    harvest(*replayed);
    if (replayed->slot != nullptr) *replayed->slot = Fault();
  }
}

void CudaQueue::harvest(const Pending& pending) noexcept {
  const Task& task = pending.task;
  if (pending.slot == nullptr || !pending.slot->found() || task.check == CheckMode::silent) return;
  record_fault(task, pending.number, *fault_cell, *pending.slot);
}

std::shared_ptr<Marker> CudaQueue::record() {
  driver_.require_usable();
  const Lock lock(mutex_);
  if (closed_) return nullptr;
  bool capturing = is_capturing();
  std::shared_ptr<DeviceEvent> event = driver_.record(stream_, true);
  // As in mark(): the program may have begun a capture in between, which no stream of the library may join.
  capturing = is_capturing() || capturing;
  if (!capturing) remember(event);
  auto marker = make_recycled<CudaMarker>(driver_, std::move(event), weak_from_this(), capturing);
  marker->task_number = tasks_;
  marker->fault_cell = fault_cell;
  return marker;
}

bool CudaQueue::wait_for(std::shared_ptr<Marker> marker) {
  driver_.require_usable();
  const Lock lock(mutex_);
  if (closed_) return false;
  const auto awaited = std::static_pointer_cast<CudaMarker>(std::move(marker));
  // A stream that waits for a point in a graph is captured from then on.
  if (awaited->captured_ && owner_ == Owner::library) {
    throw DeviceFailure(
        Status(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
               "event was recorded while a CUDA graph was captured, and stream cannot join the capture; only "
               "streams that openaclnnCreateStreamFromNative returned can join it"));
  }
  // If the event's device is lost, CUDA's error must not count as one of this device.
  if (&awaited->driver_ != &driver_ && !awaited->captured_) (void)awaited->driver_.state_of(*awaited->event_);
  driver_.call(&PluginTable::wait_event, stream_, awaited->event_->handle);
  if (!is_capturing()) ++appended_;
  return true;
}

Status CudaQueue::can_be_awaited() const {
  try {
    return ended_ || !driver_.is_usable() || !is_capturing() ? Status() : being_captured();
  } catch (const DeviceFailure&) {
    return {};  // the wait reports the reason, and releases the handle of a destroyed stream
  }
}

WaitResult CudaQueue::synchronize(Deadline deadline) {
  driver_.require_usable();
  std::shared_ptr<DeviceEvent> last;
  uint64_t awaited = 0;
  {
    const Lock lock(mutex_);
    if (ended_) return WaitResult::done;
    if (Status status = can_be_awaited(); !status.ok()) throw DeviceFailure(std::move(status));
    settle(lock);
    if (finished_ == appended_ && owner_ == Owner::library) {
      ended_ = closed_;
      return WaitResult::done;
    }
    last = mark(lock);
    if (last == nullptr) throw DeviceFailure(being_captured());
    awaited = appended_;
  }
  if (driver_.wait_for(*last, deadline) == WaitResult::timed_out) return WaitResult::timed_out;
  settle();
  harvest_replays();
  const Lock lock(mutex_);
  finished_ = std::max(finished_, awaited);
  ended_ = closed_ && pending_.empty();
  return WaitResult::done;
}

bool CudaQueue::idle() const {
  if (is_capturing()) return false;
  return driver_.call(&PluginTable::query_stream, stream_);
}

// CUDA starts tasks itself, so there is nothing to discard.
void CudaQueue::close(bool) {
  driver_.require_usable();
  const Lock lock(mutex_);
  closed_ = true;
}

std::optional<FencePoint> CudaQueue::busy_until(bool wait) {
  try {
    return find_busy_until(wait);
  } catch (const DeviceFailure&) {
    if (driver_.is_lost()) return std::nullopt;  // nothing runs on a lost device
    throw;
  }
}

std::optional<FencePoint> CudaQueue::find_busy_until(bool wait) {
  driver_.require_usable();
  Lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (!wait) return FencePoint{this, nullptr, shared_from_this()};
    lock.lock();
  }
  if (ended_ || (pending_.empty() && owner_ == Owner::library)) return std::nullopt;
  // The program may destroy its stream after the handle.
  if (closed_ && owner_ == Owner::program) return FencePoint{this, nullptr, shared_from_this()};
  if (owner_ == Owner::library && driver_.call(&PluginTable::query_stream, stream_)) return std::nullopt;
  std::shared_ptr<DeviceEvent> last = mark(lock);
  settle(lock);
  return FencePoint{this, std::move(last), owner_ == Owner::program ? shared_from_this() : nullptr};
}

bool CudaQueue::has_pending_write(const MemoryRange& range) {
  try {
    return find_pending_write(range);
  } catch (const DeviceFailure&) {
    if (driver_.is_lost()) return false;  // nothing runs on a lost device
    throw;
  }
}

bool CudaQueue::find_pending_write(const MemoryRange& range) {
  driver_.require_usable();
  const Lock lock(mutex_);
  for (size_t k = 0; k < pending_.size(); ++k) {
    if (!writes(pending_[k]->task, range)) continue;
    (void)mark(lock);
    settle(lock);
    break;
  }
  for (size_t k = 0; k < pending_.size(); ++k) {
    if (writes(pending_[k]->task, range)) return true;
  }
  return false;
}

void QueueRegistry::add(const std::shared_ptr<CudaQueue>& queue) {
  const std::lock_guard lock(mutex_);
  if (queues_.size() == queues_.capacity()) {
    std::erase_if(queues_, [](const std::weak_ptr<CudaQueue>& entry) { return entry.expired(); });
    queues_.reserve(2 * queues_.size() + 16);
  }
  queues_.push_back(queue);
}

std::vector<std::shared_ptr<CudaQueue>> QueueRegistry::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<CudaQueue>> live;
  for (const std::weak_ptr<CudaQueue>& entry : queues_) {
    if (std::shared_ptr<CudaQueue> queue = entry.lock()) live.push_back(std::move(queue));
  }
  return live;
}

}  // namespace openaclnn::cuda
