// What a device is to the runtime: memory, and queues that run tasks in order. Devices know nothing about operators: a task
// carries its function.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "base/kernel_io.h"
#include "base/status.h"
#include "runtime/fault.h"
#include "runtime/recycle.h"

namespace openaclnn {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // nullopt: no limit

// Memory that a task writes.
struct MemoryRange {
  const void* begin = nullptr;
  size_t bytes = 0;
};
inline constexpr int kMaxOutputs = 4;

// What tasks know of list parameters. Tasks with the same addresses share it.
struct ListIo {
  RecycledVector<void*> addresses;  // of the tensors, list by list
  RecycledVector<MemoryRange> written;
  mutable std::atomic<bool> passed{false};  // the checks of addresses, which need not be repeated
};

// One unit of work of a queue. It owns everything it needs except tensor memory.
struct Task {
  const char* name = "";  // of the operator, for fault sentences
  RunFunction run = nullptr;
  DescribeFunction describe = nullptr;
  std::shared_ptr<const void> plan;
  std::array<void*, kMaxParameters> data = {};
  void* workspace = nullptr;
  CheckMode check = CheckMode::report;
  std::array<MemoryRange, kMaxOutputs> written = {};
  // What the task costs, as bytes of memory traffic: devices may run a small task at once. Unknown is as good as very much.
  double work_bytes = std::numeric_limits<double>::infinity();
  std::shared_ptr<const ListIo> lists;  // nullptr: the operator has no list parameters
  std::shared_ptr<FaultCell>
      report;            // receives a fault instead of the stream's cell, for a caller that waits
  bool on_host = false;  // `run` is no kernel: it belongs on the host whatever the device
};

enum class WaitResult { done, timed_out };

// One record of an event: a point in a queue that is reached once.
class Marker {
 public:
  virtual ~Marker() = default;
  virtual bool complete() const = 0;
  virtual WaitResult synchronize(Deadline deadline) = 0;
  // Of two markers of one platform that are complete.
  virtual double milliseconds_since(const Marker& start) const = 0;

  uint64_t task_number = 0;               // tasks of its queue numbered up to this one come before it
  std::shared_ptr<FaultCell> fault_cell;  // of its queue
};

// A FIFO of tasks, records and waits. Every function may be called from any thread. Functions of queues, markers and devices throw
// DeviceFailure (device_failure.h) when the device fails.
class Queue {
 public:
  virtual ~Queue() = default;

  // Appends a task and returns its number, counted from 1; nullopt when the queue is closed. A small task of an empty queue
  // may be done on return.
  virtual std::optional<uint64_t> enqueue(Task&& task) = 0;
  // Appends a point; nullptr when the queue is closed.
  virtual std::shared_ptr<Marker> record() = 0;
  // Later tasks start after the marker is reached. false when the queue is closed.
  virtual bool wait_for(std::shared_ptr<Marker> marker) = 0;
  // Waits for everything enqueued before the call.
  virtual WaitResult synchronize(Deadline deadline) = 0;
  // Not ok while nobody can wait for the queue, because its tasks are not run but collected.
  virtual Status can_be_awaited() const { return {}; }
  virtual bool idle() const = 0;
  // Refuses further work; `drop` also discards what has not started (waits and records on it count as reached).
  virtual void close(bool drop) = 0;

  std::shared_ptr<FaultCell> fault_cell;
};

struct MemoryInfo {
  size_t free_bytes;
  size_t total_bytes;
};

enum class MemorySpace { device, host };

class Device {
 public:
  virtual ~Device() = default;

  // Memory aligned to 64 bytes, nullptr when there is none.
  virtual void* allocate(size_t bytes, MemorySpace space) = 0;
  // Returns memory once every task enqueued on this device before the call is done; does not wait.
  virtual void release(void* address, size_t bytes, MemorySpace space) = 0;
  // Returns freed memory that is kept for reuse to the system; throws DeviceFailure.
  virtual void return_memory() = 0;
  // A sentence about what the program wrote outside the memory, where that can be seen; else empty.
  virtual std::string damage(const void* address, size_t bytes) const = 0;
  virtual std::optional<MemoryInfo> memory_info() const = 0;  // nullopt: the system does not say
  virtual std::string name() const = 0;                       // of the product, for people

  // `peer` is the id of another device of the platform.
  virtual bool can_access_peer(int peer) const = 0;
  virtual void enable_peer_access(int peer) = 0;

  virtual std::shared_ptr<Queue> make_queue() = 0;
  // A queue over a stream of the platform's own kind that the program made; nullptr where there is no such kind.
  virtual std::shared_ptr<Queue> wrap_stream(void* stream) = 0;
  // True when a task that is not done yet, in any queue, writes to the range.
  virtual bool has_pending_write(const MemoryRange& range) const = 0;

  // Synchronous; not ordered with queues.
  virtual void copy(void* destination, const void* source, size_t bytes) = 0;
  virtual void fill(void* destination, uint8_t value, size_t bytes) = 0;
  // The same as tasks, for a queue. `stage_source`: the source's contents are taken now, so that the caller may reuse it.
  virtual Task copy_task(void* destination, const void* source, size_t bytes, bool stage_source) = 0;
  virtual Task fill_task(void* destination, uint8_t value, size_t bytes) = 0;
};

enum class PlatformKind { cpu, cuda };

// The devices that this process uses, in the order of their ids. The platform is chosen at first use.
struct Platform {
  explicit Platform(PlatformKind of, std::string without = {}) : kind(of), why_none(std::move(without)) {}
  ~Platform() {
    for (Device* device : devices) delete device;
  }

  PlatformKind kind;
  std::vector<Device*> devices;
  std::string why_none;                  // when `devices` is empty
  std::string why_no_cuda;               // where another platform was chosen
  Status (*usability)() = nullptr;       // whether this process may use the devices; nullptr: always
  int threads = 1;                       // that compute
  const char* instruction_set = "none";  // of the kernels
};

using MakePlatform = Platform* (*)();

// The device layers announce themselves here while the library loads.
void register_platform(PlatformKind kind, MakePlatform make);

const Platform& platform();

// Not ok in a process that was forked from one that uses the platform and cannot use it too.
inline Status require_usable_platform() {
  const auto usability = platform().usability;
  return usability != nullptr ? usability() : Status();
}

// What plans may ask for where the layout of a workspace differs; needs no device.
inline PlatformKind platform_kind() { return platform().kind; }

}  // namespace openaclnn
