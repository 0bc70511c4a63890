// The runtime's interface to devices: memory, and queues that run tasks in order. Devices do not know
// operators: a task contains its function.
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

  const void* end() const { return static_cast<const char*>(begin) + bytes; }
  // Returns whether the ranges have a byte in common.
  bool meets(const MemoryRange& other) const {
    const auto from = reinterpret_cast<uintptr_t>(begin),
               from_other = reinterpret_cast<uintptr_t>(other.begin);
    // Differences, because the end of a range that no memory has may be beyond the last address.
    return from <= from_other ? other.bytes > 0 && from_other - from < bytes
                              : bytes > 0 && from - from_other < other.bytes;
  }
};
inline constexpr int kMaxOutputs = 4;

// The runtime's data about list parameters. Tasks with the same addresses share it.
struct ListIo {
  RecycledVector<void*> addresses;  // of the tensors, list by list
  RecycledVector<MemoryRange> written;
  mutable std::atomic<bool> passed{false};  // whether the address checks passed and need not be repeated
};

// A unit of work in a queue. It owns everything it needs except tensor memory.
struct Task {
  const char* name = "";  // of the function, for error messages; copies and fills have none
  const char* op = "";    // Operator::name, if an operator runs
  RunFunction run = nullptr;
  DescribeFunction describe = nullptr;
  std::shared_ptr<const void> plan;
  std::array<void*, kMaxParameters> data = {};
  void* workspace = nullptr;
  CheckMode check = CheckMode::report;
  std::array<MemoryRange, kMaxOutputs> written = {};
  // Cost of the task as bytes of memory traffic: devices may run a small task at once. An unknown cost counts
  // as large.
  double work_bytes = std::numeric_limits<double>::infinity();
  std::shared_ptr<const ListIo> lists;  // nullptr if the operator has no list parameters
  std::shared_ptr<FaultCell>
      report;            // receives a fault instead of the stream's cell, for a caller that waits
  bool on_host = false;  // `run` is not a kernel and runs on the host on every device
};

enum class WaitResult { done, timed_out };

// A record of an event: a point in a queue that is reached once.
class Marker {
 public:
  virtual ~Marker() = default;
  virtual bool complete() const = 0;
  virtual WaitResult synchronize(Deadline deadline) = 0;
  // Requires that both markers are complete and belong to the same platform.
  virtual double milliseconds_since(const Marker& start) const = 0;

  uint64_t task_number = 0;               // tasks of its queue up to this number precede it
  std::shared_ptr<FaultCell> fault_cell;  // the fault cell of its queue
};

// A FIFO of tasks, records and waits. Every function may be called from any thread. Functions of queues,
// markers and devices throw DeviceFailure (device_failure.h) if the device fails.
class Queue {
 public:
  virtual ~Queue() = default;

  // Appends a task and returns its number, counted from 1, or nullopt if the queue is closed. A small task
  // may be complete on return if the queue was empty.
  virtual std::optional<uint64_t> enqueue(Task&& task) = 0;
  // Appends a marker; returns nullptr if the queue is closed.
  virtual std::shared_ptr<Marker> record() = 0;
  // Later tasks start after the marker is reached. Returns false if the queue is closed.
  virtual bool wait_for(std::shared_ptr<Marker> marker) = 0;
  // Waits for all tasks enqueued before the call.
  virtual WaitResult synchronize(Deadline deadline) = 0;
  // Fails while the queue collects its tasks without running them (a CUDA graph capture), so that waiting
  // would never end.
  virtual Status can_be_awaited() const { return {}; }
  virtual bool idle() const = 0;
  // Rejects further work. `drop` also discards tasks that have not started; waits and records on the queue
  // count as reached.
  virtual void close(bool drop) = 0;

  std::shared_ptr<FaultCell> fault_cell;
};

struct MemoryInfo {
  size_t free_bytes;
  size_t total_bytes;
};

enum class MemorySpace { device, host };

// The bytes of a copy: rows of the same width, whose starts lie a pitch apart. A plain copy is one row.
struct CopyShape {
  size_t width = 0;
  size_t rows = 1;
  size_t destination_pitch = 0, source_pitch = 0;

  bool is_empty() const { return width == 0 || rows == 0; }
  // Whether neither side has gaps between its rows.
  bool is_plain() const { return rows <= 1 || (destination_pitch == width && source_pitch == width); }
  // From the first byte to the last, with the gaps.
  size_t destination_extent() const { return extent(destination_pitch); }
  size_t source_extent() const { return extent(source_pitch); }

 private:
  size_t extent(size_t pitch) const { return is_empty() ? 0 : (rows - 1) * pitch + width; }
};

class Device {
 public:
  virtual ~Device() = default;

  // Returns memory aligned to 64 bytes, or nullptr if there is none.
  virtual void* allocate(size_t bytes, MemorySpace space) = 0;
  // Releases memory after every task enqueued on this device before the call is complete. Does not wait.
  virtual void release(void* address, size_t bytes, MemorySpace space) = 0;
  // Returns cached free memory to the system; throws DeviceFailure.
  virtual void return_memory() = 0;
  // Describes writes of the program outside the memory, if they can be detected; otherwise empty.
  virtual std::string damage(const void* address, size_t bytes) const = 0;
  virtual std::optional<MemoryInfo> memory_info() const = 0;  // nullopt if the system does not provide it
  virtual std::string name() const = 0;                       // product name for display

  // `peer` is the id of another device of the platform.
  virtual bool can_access_peer(int peer) const = 0;
  virtual void enable_peer_access(int peer) = 0;

  virtual std::shared_ptr<Queue> make_queue() = 0;
  // Creates a queue for a native stream that the program created, or returns nullptr if the platform has no
  // native streams.
  virtual std::shared_ptr<Queue> wrap_stream(void* stream) = 0;
  // Returns whether an unfinished task of any queue writes to the range.
  virtual bool has_pending_write(const MemoryRange& range) const = 0;

  // Synchronous; not ordered with queues.
  virtual void copy(void* destination, const void* source, const CopyShape& shape) = 0;
  virtual void fill(void* destination, uint8_t value, size_t bytes) = 0;
  // The same as a task for a queue. `stage_source` copies the source now, so that the caller may reuse it.
  virtual Task copy_task(void* destination, const void* source, const CopyShape& shape,
                         bool stage_source) = 0;
  virtual Task fill_task(void* destination, uint8_t value, size_t bytes) = 0;
};

enum class PlatformKind { cpu, cuda };

// The devices that this process uses, ordered by id. The platform is selected at first use.
struct Platform {
  explicit Platform(PlatformKind of, std::string without = {}) : kind(of), why_none(std::move(without)) {}
  ~Platform() {
    for (Device* device : devices) delete device;
  }

  PlatformKind kind;
  std::vector<Device*> devices;
  std::string why_none;                  // set if `devices` is empty
  std::string why_no_cuda;               // set if another platform was selected
  Status (*usability)() = nullptr;       // whether this process may use the devices; nullptr means always
  int threads = 1;                       // number of threads that compute
  const char* instruction_set = "none";  // instruction set of the kernels
};

using MakePlatform = Platform* (*)();

// Device layers register here while the library loads.
void register_platform(PlatformKind kind, MakePlatform make);

const Platform& platform();

// `device` is valid (require_device).
inline Device& device_at(int device) { return *platform().devices[static_cast<size_t>(device)]; }

// Fails in a forked child whose parent uses the platform, if the platform does not support this.
inline Status require_usable_platform() {
  const auto usability = platform().usability;
  return usability != nullptr ? usability() : Status();
}

// For plans, which lay out workspaces differently per platform. Needs no device.
inline PlatformKind platform_kind() { return platform().kind; }

}  // namespace openaclnn
