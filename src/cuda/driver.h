// One device as the plugin shows it: calls of the table whose failures become exceptions, and events that are used again.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cancellation.h"
#include "cuda/plugin.h"
#include "runtime/device_failure.h"

namespace openaclnn::cuda {

class Driver;

enum class EventState { ahead, over, captured };  // captured: a point in a graph, which is never reached

// An event of CUDA. When the last owner drops it, it waits in the driver's list for its next use.
class DeviceEvent {
 public:
  DeviceEvent(Driver& driver, bool timed) : driver_(driver), timed_(timed) {}
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void* handle = nullptr;

  // An event of a device that is lost is over: nothing runs there any more.
  EventState state() const;

 private:
  Driver& driver_;
  const bool timed_;
};

class Driver {
 public:
  Driver(const PluginTable& table, int device) : table_(table), device_(device) {}
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  int device() const { return device_; }

  // Throws when the device is lost, or when this is a forked child of a process that used CUDA.
  void require_usable() const;
  bool is_usable() const noexcept;
  bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }

  // Calls a function of the table. False: not ready. Throws DeviceFailure, or std::bad_alloc where memory is lacking.
  template <class... Parameters, class... Arguments>
  bool call(PluginStatus (*PluginTable::*function)(int, Parameters...), Arguments... arguments) {
    require_usable();
    const CancellationHold no_cancellation;
    return judge((table_.*function)(device_, arguments...));
  }

  // As call(), for destructors and for giving back: failures leave nothing to do.
  template <class... Parameters, class... Arguments>
  void call_quietly(PluginStatus (*PluginTable::*function)(int, Parameters...),
                    Arguments... arguments) noexcept {
    if (!is_usable()) return;
    const CancellationHold no_cancellation;
    (void)(table_.*function)(device_, arguments...);
  }

  std::shared_ptr<DeviceEvent> take_event(bool timed);

  // Records an event on the stream.
  std::shared_ptr<DeviceEvent> record(void* stream, bool timed);
  bool is_reached(const DeviceEvent& event) { return call(&PluginTable::query_event, event.handle); }
  EventState state_of(const DeviceEvent& event);
  WaitResult wait_for(const DeviceEvent& event, Deadline deadline);

 private:
  friend class DeviceEvent;

  bool judge(PluginStatus status);
  void give_back_event(void* event, bool timed) noexcept;

  const PluginTable& table_;
  const int device_;
  std::atomic<const DeviceFailure*> lost_{nullptr};  // never freed: what every later call reports
  std::mutex mutex_;
  std::array<std::vector<void*>, 2> idle_events_;  // untimed, timed
};

// From now on forked children are refused: CUDA cannot be used in them, whatever the parent has done with it.
void note_use_of_cuda();
// Of this process; not ok in such a child.
Status usability_of_process();

}  // namespace openaclnn::cuda
