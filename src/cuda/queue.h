// Streams of the CUDA device. The order of tasks is kept by CUDA; the queue remembers what the host has to do when they are done.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ring.h"
#include "cuda/driver.h"
#include "cuda/fault_slots.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

// Plan of a copy or a fill; the addresses are Task::data[0] and [1]. Such a task has no function.
struct Transfer {
  size_t bytes;
  bool is_fill;
  uint8_t value;
};

class CudaQueue;

// A point behind tasks of a queue. Points of one queue are reached in the order in which it gave them.
struct FencePoint {
  const void* queue = nullptr;  // to be compared
  // nullptr: the queue has to be asked later, for it was being handed a task, or its stream is being captured and nothing can be
  // recorded behind the tasks from before.
  std::shared_ptr<DeviceEvent> event = nullptr;
  // nullptr where the event will do: nobody captures a stream of the library.
  std::shared_ptr<CudaQueue> to_ask = nullptr;
};

class CudaMarker final : public Marker {
 public:
  CudaMarker(Driver& driver, std::shared_ptr<DeviceEvent> event, std::weak_ptr<CudaQueue> queue,
             bool captured)
      : driver_(driver), event_(std::move(event)), queue_(std::move(queue)), captured_(captured) {}

  bool complete() const override {
    require_time();
    return driver_.is_reached(*event_);
  }
  WaitResult synchronize(Deadline deadline) override;
  double milliseconds_since(const Marker& start) const override;

 private:
  friend class CudaQueue;
  void require_time() const;

  Driver& driver_;
  const std::shared_ptr<DeviceEvent> event_;
  const std::weak_ptr<CudaQueue> queue_;
  const bool captured_;  // a point in a graph
};

// One lock for each queue. It is held while a task is handed to CUDA, so that numbers follow the order of the stream. That returns at
// once, but for copies of pageable memory.
class CudaQueue final : public Queue, public std::enable_shared_from_this<CudaQueue> {
 public:
  enum class Owner { library, program };  // who made the stream, and destroys it

  CudaQueue(Driver& driver, FaultSlots& slots, void* stream, Owner owner)
      : driver_(driver), slots_(slots), stream_(stream), owner_(owner) {}
  ~CudaQueue() override;

  std::optional<uint64_t> enqueue(Task&& task) override;
  std::shared_ptr<Marker> record() override;
  bool wait_for(std::shared_ptr<Marker> marker) override;
  WaitResult synchronize(Deadline deadline) override;
  Status can_be_awaited() const override;
  bool idle() const override;
  void close(bool drop) override;

  // A point behind all tasks enqueued so far, and behind the program's own work where it made the stream; nullopt when all is
  // done. Tasks that a graph captured do not count. Without `wait` it returns at once: CUDA may keep a copy from pageable memory,
  // and with it the queue's lock, until the stream gets there.
  std::optional<FencePoint> busy_until(bool wait);
  bool has_pending_write(const MemoryRange& range);
  // Takes note of all tasks that are done.
  void settle();

 private:
  friend class CudaMarker;
  using Lock = std::unique_lock<std::mutex>;

  // A task that CUDA has. It keeps what kernels, copies and host functions still read on the host.
  struct Pending {
    uint64_t number;
    Task task;
    Fault* slot;  // nullptr: not a task of an operator
    CudaQueue* queue;
  };
  // Everything up to here is done when the event is reached.
  struct Mark {
    uint64_t appended;
    uint64_t tasks;
    std::shared_ptr<DeviceEvent> event;
  };

  bool is_capturing() const;
  std::optional<FencePoint> find_busy_until(bool wait);
  void start(Pending& pending, const Lock& lock);
  void wait_for_copy(const Lock& lock);
  // A mark behind everything that was appended; nullptr while the stream is captured.
  std::shared_ptr<DeviceEvent> mark(const Lock& lock);
  void remember(const std::shared_ptr<DeviceEvent>& event);
  void settle(const Lock& lock);
  void harvest_replays();
  void harvest(const Pending& pending) noexcept;
  static void run_on_host(void* pending) noexcept;

  Driver& driver_;
  FaultSlots& slots_;
  void* const stream_;
  const Owner owner_;
  std::mutex mutex_;
  bool closed_ = false;
  std::atomic<bool> ended_{false};  // closed, and all was done then: the stream may be gone
  uint64_t tasks_ = 0;              // ever appended
  uint64_t appended_ = 0;           // tasks and waits that no graph captured
  uint64_t finished_ = 0;           // of appended_, as far as is known
  Ring<std::unique_ptr<Pending>> pending_;
  Ring<Mark> marks_;  // each behind more tasks than the one before
  // Tasks that a CUDA graph holds now. It may run them at any time, so they stay as long as the queue.
  std::vector<std::unique_ptr<Pending>> captured_;
};

// All queues of the process: memory is released when all of them have passed a point.
class QueueRegistry {
 public:
  void add(const std::shared_ptr<CudaQueue>& queue);
  std::vector<std::shared_ptr<CudaQueue>> all();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<CudaQueue>> queues_;
};

}  // namespace openaclnn::cuda
