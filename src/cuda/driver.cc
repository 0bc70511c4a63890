// Evaluates the plugin's results, waits with a deadline, and manages idle events.
#include "cuda/driver.h"

#include <algorithm>
#include <thread>

#include "acl/acl_rt.h"
#include "base/cancellation.h"
#include "base/first_use.h"
#include "base/text.h"
#include "runtime/fork.h"

namespace openaclnn::cuda {

namespace {

// A forked child has the memory of CUDA's driver, but none of its threads and no access to the device.
class ForkWatch final : public ForkGuarded {
 public:
  ForkWatch() { register_fork_guarded(LockRank::scheduler, this); }
  void before_fork() override {}
  void after_fork_in_parent() override {}
  void after_fork_in_child() override { forked.store(used.load()); }

  std::atomic<bool> used{false};
  std::atomic<bool> forked{false};
};

ForkWatch* const fork_watch = new ForkWatch;

}  // namespace

void note_use_of_cuda() { fork_watch->used.store(true); }

Status usability_of_process() {
  if (!fork_watch->forked.load(std::memory_order_relaxed)) return {};
  return {ACL_ERROR_RT_DRV_INTERNAL_ERROR,
          "this process was forked from one that uses CUDA, which does not work in a forked child; start "
          "children as new programs (exec, posix_spawn, Python's start method spawn)"};
}

bool Driver::is_usable() const noexcept {
  return !fork_watch->forked.load(std::memory_order_relaxed) && !is_lost();
}

void Driver::require_usable() const {
  if (Status status = usability_of_process(); !status.ok()) throw DeviceFailure(std::move(status));
  if (const DeviceFailure* lost = lost_.load(std::memory_order_acquire)) throw DeviceFailure(*lost);
}

bool Driver::judge(PluginStatus status) {
  switch (status) {
    case PluginStatus::done: return true;
    case PluginStatus::not_ready: return false;
    case PluginStatus::out_of_memory:
      throw DeviceMemoryFailure(
          text("EL0004 Failed to allocate memory on device ", device_, ": ", table_.error_text()));
    case PluginStatus::captured:
    case PluginStatus::refused: throw DeviceFailure(text("device ", device_, ": ", table_.error_text()));
    case PluginStatus::lost: break;
  }
  auto failure = std::make_unique<const DeviceFailure>(Status(
      ACL_ERROR_RT_DRV_INTERNAL_ERROR, text("device ", device_, " is lost: ", table_.error_text(),
                                            "; nothing on it can be used until the program is restarted")));
  if (is_first(lost_, failure.get())) (void)failure.release();
  throw DeviceFailure(*lost_.load(std::memory_order_acquire));
}

DeviceEvent::~DeviceEvent() {
  if (handle != nullptr) driver_.give_back_event(handle, timed_);
}

EventState DeviceEvent::state() const {
  try {
    return driver_.is_lost() ? EventState::over : driver_.state_of(*this);
  } catch (const DeviceFailure&) {
    if (driver_.is_lost()) return EventState::over;
    throw;
  }
}

void DeviceEvent::wait() const { (void)driver_.wait_for(*this, std::nullopt); }

EventState Driver::state_of(const DeviceEvent& event) {
  require_usable();
  const CancellationHold no_cancellation;
  const PluginStatus status = table_.query_event(device_, event.handle);
  if (status == PluginStatus::captured) return EventState::captured;
  return judge(status) ? EventState::over : EventState::ahead;
}

std::shared_ptr<DeviceEvent> Driver::take_event(bool timed) {
  require_usable();  // before the lock, which a forked child may have inherited locked
  auto event = make_recycled<DeviceEvent>(*this, timed);
  {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& idle = idle_events_[timed ? 1 : 0];
    if (!idle.empty()) {
      event->handle = idle.back();
      idle.pop_back();
    }
  }
  if (event->handle == nullptr) call(&PluginTable::create_event, timed ? 1 : 0, &event->handle);
  return event;
}

void Driver::give_back_event(void* event, bool timed) noexcept {
  if (!is_usable()) return;
  try {
    const std::lock_guard lock(mutex_);
    idle_events_[timed ? 1 : 0].push_back(event);
  } catch (...) {
    call_quietly(&PluginTable::destroy_event, event);
  }
}

std::shared_ptr<DeviceEvent> Driver::record(void* stream, bool timed) {
  std::shared_ptr<DeviceEvent> event = take_event(timed);
  call(&PluginTable::record_event, event->handle, stream);
  return event;
}

WaitResult Driver::wait_for(const DeviceEvent& event, Deadline deadline) {
  if (!deadline) {
    call(&PluginTable::synchronize_event, event.handle);
    return WaitResult::done;
  }
  // CUDA has no wait with a time limit.
  const CancellationHold no_cancellation;
  constexpr auto kLongestPause = std::chrono::microseconds(500);
  for (auto pause = std::chrono::microseconds(1);; pause = std::min(2 * pause, kLongestPause)) {
    if (is_reached(event)) return WaitResult::done;
    if (Clock::now() >= *deadline) return WaitResult::timed_out;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace openaclnn::cuda
