// One device of the plugin: calls to its function table, whose failures become exceptions, and reusable
// events.
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

enum class EventState { ahead, over, captured };  // captured: a point in a graph, never reached

// A CUDA event. When its last owner releases it, it returns to the driver's list of idle events.
class DeviceEvent {
 public:
  DeviceEvent(Driver& driver, bool timed) : driver_(driver), timed_(timed) {}
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void* handle = nullptr;

  // Events of a lost device are over, because nothing runs there.
  EventState state() const;
  // Waits until it is reached. Errors are those of the event's device, which may not be the caller's.
  void wait() const;

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

  // Throws if the device is lost, or in a forked child of a process that used CUDA.
  void require_usable() const;
  bool is_usable() const noexcept;
  bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire) != nullptr; }

  // Calls a function of the table. Returns false for "not ready". Throws DeviceFailure, or
  // DeviceMemoryFailure if memory is exhausted.
  template <class... Parameters, class... Arguments>
  bool call(PluginStatus (*PluginTable::*function)(int, Parameters...), Arguments... arguments) {
    require_usable();
    const CancellationHold no_cancellation;
    return judge((table_.*function)(device_, arguments...));
  }

  // Like call(), for destructors and for freeing: ignores failures.
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
  std::atomic<const DeviceFailure*> lost_{nullptr};  // never freed; every later call reports it
  std::mutex mutex_;
  std::array<std::vector<void*>, 2> idle_events_;  // untimed, timed
};

// Rejects forked children from now on: CUDA cannot be used in them, whatever the parent did with it.
void note_use_of_cuda();
// The usability of this process: a failure in such a child.
Status usability_of_process();

}  // namespace openaclnn::cuda
