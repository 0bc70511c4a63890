// Streams of the CUDA device. CUDA orders the tasks; the queue stores what the host must do after they
// complete.
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

// Plan of a copy or a fill. The addresses are Task::data[0] and [1]. Such a task has no function.
struct Transfer {
  CopyShape shape;  // of a fill: one row
  bool is_fill;
  uint8_t value;
};

// Starts a copy on the stream, one operation of the driver for each row unless there are no gaps. Returns whether memory is pageable.
bool start_copy(Driver& driver, void* stream, void* destination, const void* source, const CopyShape& shape);

class CudaQueue;

// A point after tasks of a queue. Points of one queue are reached in the order in which the queue created
// them.
struct FencePoint {
  const void* queue = nullptr;  // for comparison only
  // nullptr if the queue must be queried later. Then a task was being enqueued, or the stream is being
  // captured and no event can be recorded after its earlier tasks.
  std::shared_ptr<DeviceEvent> event = nullptr;
  // nullptr if the event suffices, because streams of the library are never captured.
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
  const bool captured_;  // whether it is a point in a graph
};

// Each queue has a lock. It is held while a task is passed to CUDA, so that numbers follow the order of the
// stream. Passing a task returns at once, except for copies of pageable memory.
class CudaQueue final : public Queue, public std::enable_shared_from_this<CudaQueue> {
 public:
  enum class Owner { library, program };  // who created the stream and destroys it

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

  // Returns a point after all tasks enqueued so far, and after the program's own work if the program created
  // the stream. Returns nullopt if all work is complete. Tasks captured by a graph do not count. Without
  // `wait` it returns at once: during a copy from pageable memory, CUDA may hold the queue's lock until the
  // stream reaches the copy.
  std::optional<FencePoint> busy_until(bool wait);
  bool has_pending_write(const MemoryRange& range);
  // Processes all completed tasks.
  void settle();

 private:
  friend class CudaMarker;
  using Lock = std::unique_lock<std::mutex>;

  // A task that was passed to CUDA. It keeps data that kernels, copies and host functions still read on the
  // host.
  struct Pending {
    uint64_t number;
    Task task;
    Fault* slot;  // nullptr if not a task of an operator
    CudaQueue* queue;
  };
  // All work up to here is complete when the event is reached.
  struct Mark {
    uint64_t appended;
    uint64_t tasks;
    std::shared_ptr<DeviceEvent> event;
  };

  bool is_capturing() const;
  std::optional<FencePoint> find_busy_until(bool wait);
  bool find_pending_write(const MemoryRange& range);
  void start(Pending& pending, const Lock& lock);
  void wait_for_copy(const Lock& lock);
  // Returns a mark after all appended work, or nullptr while the stream is being captured.
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
  SideStream side_;
  const std::unique_ptr<LargestUploadPiece> piece_ = std::make_unique_for_overwrite<LargestUploadPiece>();
  bool closed_ = false;
  std::atomic<bool> ended_{false};  // closed, and all work was complete then: the stream may no longer exist
  uint64_t tasks_ = 0;              // total number of tasks
  uint64_t appended_ = 0;           // tasks and waits that were not captured
  uint64_t finished_ = 0;           // part of appended_ that is known to be complete
  Ring<std::unique_ptr<Pending>> pending_;
  Ring<Mark> marks_;  // each follows more tasks than the previous one
  // Tasks that a CUDA graph holds. The graph may run them at any time, so they live as long as the queue.
  std::vector<std::unique_ptr<Pending>> captured_;
};

// All queues of the process. Memory is released once all of them have passed a point.
class QueueRegistry {
 public:
  void add(const std::shared_ptr<CudaQueue>& queue);
  std::vector<std::shared_ptr<CudaQueue>> all();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<CudaQueue>> queues_;
};

}  // namespace openaclnn::cuda
