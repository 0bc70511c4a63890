// Streams of the CPU device: FIFO queues that the worker pool, or a waiting thread, drains.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ring.h"
#include "cpu/scratch.h"
#include "runtime/device.h"
#include "runtime/fork.h"

namespace openaclnn::cpu {

class CpuQueue;

// An ordered list of queues. Each queue owns a node and moves it from list to list, so listing never
// allocates.
using QueueList = std::list<std::shared_ptr<CpuQueue>>;

// A record of an event. Guarded by the scheduler's lock.
class CpuMarker final : public Marker {
 public:
  bool complete() const override;
  WaitResult synchronize(Deadline deadline) override;
  double milliseconds_since(const Marker& start) const override {
    return std::chrono::duration<double, std::milli>(time_ - static_cast<const CpuMarker&>(start).time_)
        .count();
  }

 private:
  friend class Scheduler;
  friend class CpuQueue;
  bool reached_ = false;
  Clock::time_point time_;
  std::weak_ptr<CpuQueue> queue_;
  QueueList blocked_;  // queues whose next item waits for this marker
};

// Guarded by the scheduler's lock. The destructor takes no lock, so the last reference may be released under
// it.
class CpuQueue final : public Queue, public std::enable_shared_from_this<CpuQueue> {
 public:
  std::optional<uint64_t> enqueue(Task&& task) override;
  std::shared_ptr<Marker> record() override;
  bool wait_for(std::shared_ptr<Marker> marker) override;
  WaitResult synchronize(Deadline deadline) override;
  bool idle() const override;
  void close(bool drop) override;

 private:
  friend class Scheduler;

  enum class Kind { task, record, wait, dropped };
  enum class State {
    idle,     // empty
    ready,    // in the scheduler's list: its next item can run
    running,  // a thread drains it
    blocked,  // in the list of the marker that its next item waits for
  };
  struct Item {
    Kind kind;
    Task task;
    uint64_t number = 0;    // of the task in this queue
    uint64_t sequence = 0;  // of the task among all tasks of the device
    std::shared_ptr<CpuMarker> marker;
  };

  // For the kernels that the draining thread runs; only one thread drains a queue at a time.
  const OwnedScratch scratch_ = make_scratch();
  Ring<Item> items_;
  uint64_t added_ = 0;     // items ever appended
  uint64_t finished_ = 0;  // completed items
  uint64_t tasks_ = 0;     // tasks ever appended
  State state_ = State::idle;
  bool closed_ = false;
  int waiters_ = 0;
  // The least value of finished_ that a waiting thread needs. It may be too small, because threads that
  // needed less may have left.
  uint64_t awaited_ = UINT64_MAX;
  std::condition_variable changed_;  // finished_ reached awaited_, or the queue can run and has no worker yet
  QueueList home_{1};                // holds the node while the queue is in no list
  const QueueList::iterator node_ = home_.begin();

  static constexpr size_t kNotWriting = SIZE_MAX;
  // Index into the scheduler's list of queues with pending writes; kNotWriting if absent.
  size_t writing_at_ = kNotWriting;
};

// Scheduling decisions that the order of tasks leaves open. Tests control them to produce orders that timing
// rarely causes: tests/runtime/schedules_test.cc.
class Choices {
 public:
  virtual ~Choices() = default;
  virtual size_t choose(size_t options) = 0;  // a number below `options`; called under the scheduler's lock
  virtual bool alone() const = 0;             // no workers: only threads that wait without a limit run tasks
};

// One lock guards all queues. Its critical sections are a few pointer updates, and a single lock keeps waits
// between streams, fork() and exit simple.
class Scheduler final : public ForkGuarded {
 public:
  static Scheduler& instance() { return *scheduler_; }

  std::shared_ptr<CpuQueue> make_queue();

  bool has_pending_write(const MemoryRange& range);

  // Lets `choices` decide from now on; nullptr, the default outside tests, removes it. Requires that no task
  // is queued.
  void let_decide(Choices* choices);

  // Calls free_memory(address, bytes) once every task enqueued before now is complete. If there are none, it
  // is called at once without the lock, and this thread returns the memory pool's excess. Otherwise it is
  // called under the lock after these tasks, and a worker returns the excess.
  void release_when_done(void* address, size_t bytes, void (*free_memory)(void*, size_t));

  // The number of times that blocks were freed after the tasks that may use them.
  uint64_t releases();
  // Waits until blocks that queued tasks may use are freed, unless some were since `releases` was read. Updates it.
  // Returns false if there are none, or if a task of this thread calls: it would wait for itself.
  bool wait_for_release(uint64_t& releases);

  void before_fork() override { mutex_.lock(); }
  void after_fork_in_parent() override { mutex_.unlock(); }
  void after_fork_in_child() override;

 private:
  friend class CpuQueue;
  friend class CpuMarker;
  using Lock = std::unique_lock<std::mutex>;

  struct Released {
    void* address;
    size_t bytes;
    void (*free_memory)(void*, size_t);
  };

  // The approximate memory range that the tasks of a non-idle queue write.
  struct WritingQueue {
    uintptr_t begin;
    uintptr_t end;
    CpuQueue* queue;
  };

  Scheduler();

  void append(Lock& lock, CpuQueue& queue, CpuQueue::Item&& item);
  void settle(const Lock& lock, CpuQueue& queue);
  std::shared_ptr<CpuQueue> unlist(const Lock& lock, CpuQueue& queue);
  void note_writes(const Lock& lock, CpuQueue& queue, const Task& task);
  void forget_writes(const Lock& lock, CpuQueue& queue);
  void request_worker(const Lock& lock);
  void drain_ready(Lock& lock);
  void take_turn(Lock& lock);  // runs one ready queue, even if no other queue waits
  std::shared_ptr<CpuQueue> next_ready(const Lock& lock) const;
  bool ends_turn(const Lock& lock) const;
  template <class Stop>
  void drain(Lock& lock, std::shared_ptr<CpuQueue> queue, Stop stop);
  template <class Stop>
  void run_items(Lock& lock, CpuQueue& queue, Stop stop);
  bool is_blocked(const Lock& lock, const CpuQueue& queue) const;
  void reach(const Lock& lock, CpuMarker& marker);
  void finish_task(const Lock& lock, uint64_t sequence);
  void free_released(const Lock& lock);
  void return_memory(Lock& lock);
  std::shared_ptr<CpuQueue> runnable_for(const Lock& lock, const std::shared_ptr<CpuQueue>& queue) const;
  template <class Done>
  WaitResult wait_until(Lock& lock, const std::shared_ptr<CpuQueue>& queue, const Deadline& deadline,
                        uint64_t awaited, Done done);
  void drop_items(const Lock& lock, CpuQueue& queue);
  enum class DropReason { exit, destroyed };
  static void report_dropped(const Lock& lock, const CpuQueue& queue, DropReason reason);
  static int& tasks_on_this_thread();  // running on this thread
  void arm_exit_handler(const Lock& lock);
  void at_exit();

  static Scheduler* const scheduler_;

  std::mutex mutex_;
  QueueList ready_;
  int running_tasks_ = 0;
  std::condition_variable quiet_;  // a task is complete
  uint64_t enqueued_ = 0;          // total number of tasks
  bool exiting_ = false;
  bool serial_ = false;  // no workers, now or for good: tasks run on the thread that enqueues or waits

  // Completion flags of the device's tasks in order of enqueueing, from the oldest unfinished task on: 1 =
  // done.
  Ring<uint8_t> done_;
  uint64_t oldest_ = 0;                          // sequence of done_.front()
  std::multimap<uint64_t, Released> released_;   // keyed by the sequence that must be passed
  uint64_t releases_ = 0;                        // calls of free_released()
  bool has_excess_ = false;                      // the pool has memory to return to the system
  std::vector<std::weak_ptr<CpuQueue>> queues_;  // all existing queues, and some destroyed ones
  std::vector<WritingQueue> writing_;
  Choices* choices_ = nullptr;
};

}  // namespace openaclnn::cpu
