// The scheduler decides where and when queues run. scheduler.h documents its functions.
#include "cpu/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/cancellation.h"
#include "cpu/fp_environment.h"
#include "cpu/threads.h"
#include "cpu/worker_pool.h"
#include "runtime/recycle.h"
#include "runtime/task_fault.h"

namespace openaclnn::cpu {

namespace {

// A task of at most this much memory traffic runs on the enqueueing thread if no task precedes it. Passing it
// to a worker would take about as long as running it, and no kernel uses a second thread for it.
constexpr double kMostBytesAtOnce = kMinBytesPerThread;

// An exception would leave the queue running for ever, so it ends the process.
void run_task(const Task& task, uint64_t number, FaultCell& fault_cell) noexcept {
  const ScopedFpEnvironment fp_environment;
  const Fault fault =
      task.run(task.plan.get(), TaskIo{task.data, task.workspace, task.check,
                                       task.lists != nullptr ? task.lists->addresses.data() : nullptr});
  if (!fault.found() || task.check == CheckMode::silent) return;
  record_fault(task, number, fault_cell, fault);
}

}  // namespace

// ---- Markers and queues: every member takes the scheduler's lock ----

bool CpuMarker::complete() const {
  const Scheduler::Lock lock(Scheduler::instance().mutex_);
  return reached_;
}

WaitResult CpuMarker::synchronize(Deadline deadline) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  const std::shared_ptr<CpuQueue> queue = queue_.lock();
  if (reached_ || queue == nullptr) return WaitResult::done;
  return scheduler.wait_until(lock, queue, deadline, 0, [this] { return reached_; });
}

std::optional<uint64_t> CpuQueue::enqueue(Task&& task) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return std::nullopt;
  scheduler.arm_exit_handler(lock);
  const uint64_t number = tasks_ + 1;
  scheduler.append(
      lock, *this,
      Item{Kind::task, std::move(task), number, scheduler.oldest_ + scheduler.done_.size(), nullptr});
  return number;
}

std::shared_ptr<Marker> CpuQueue::record() {
  auto marker = make_recycled<CpuMarker>();
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return nullptr;
  marker->queue_ = weak_from_this();
  marker->task_number = tasks_;
  marker->fault_cell = fault_cell;
  if (state_ == State::idle) {
    scheduler.reach(lock, *marker);
    return marker;
  }
  scheduler.append(lock, *this, Item{Kind::record, {}, 0, 0, marker});
  return marker;
}

bool CpuQueue::wait_for(std::shared_ptr<Marker> marker) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return false;
  auto awaited = std::static_pointer_cast<CpuMarker>(std::move(marker));
  if (awaited->reached_) return true;
  scheduler.append(lock, *this, Item{Kind::wait, {}, 0, 0, std::move(awaited)});
  return true;
}

WaitResult CpuQueue::synchronize(Deadline deadline) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  const uint64_t target = added_;
  if (finished_ == target) return WaitResult::done;
  return scheduler.wait_until(lock, shared_from_this(), deadline, target,
                              [&] { return finished_ >= target; });
}

bool CpuQueue::idle() const {
  const Scheduler::Lock lock(Scheduler::instance().mutex_);
  return items_.empty();
}

void CpuQueue::close(bool drop) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  closed_ = true;
  if (!drop) return;
  Scheduler::report_dropped(lock, *this, Scheduler::DropReason::destroyed);
  scheduler.drop_items(lock, *this);
  if (scheduler.serial_) scheduler.drain_ready(lock);  // queues that waited for a dropped record
}

// ---- The scheduler ----

Scheduler* const Scheduler::scheduler_ = new Scheduler;

Scheduler::Scheduler() { register_fork_guarded(LockRank::scheduler, this); }

std::shared_ptr<CpuQueue> Scheduler::make_queue() {
  // Not make_shared: weak references in queues_ then keep only a few bytes of a destroyed queue.
  std::shared_ptr<CpuQueue> queue(new CpuQueue);
  const Lock lock(mutex_);
  if (queues_.size() == queues_.capacity()) {
    std::erase_if(queues_, [](const std::weak_ptr<CpuQueue>& entry) { return entry.expired(); });
    const size_t capacity = std::max(queues_.capacity(), 2 * queues_.size() + 16);
    writing_.reserve(capacity);
    queues_.reserve(capacity);
  }
  queues_.push_back(queue);
  return queue;
}

// Appends an item and starts a queue that was empty. A small task runs at once on this thread, as if the
// thread waited for it. If an exception is thrown, nothing has changed.
void Scheduler::append(Lock& lock, CpuQueue& queue, CpuQueue::Item&& item) {
  const bool is_task = item.kind == CpuQueue::Kind::task;
  const bool at_once = is_task && queue.state_ == CpuQueue::State::idle &&
                       item.task.work_bytes <= kMostBytesAtOnce &&
                       (choices_ == nullptr || choices_->choose(2) > 0);
  if (is_task) done_.push_back(0);
  try {
    queue.items_.push_back(std::move(item));
  } catch (...) {
    if (is_task) done_.pop_back();
    throw;
  }
  ++queue.added_;
  if (is_task) ++queue.tasks_;
  // A task that runs before this call returns needs no note: no later call can find it pending.
  if (is_task && !at_once) note_writes(lock, queue, queue.items_.back().task);
  if (queue.state_ != CpuQueue::State::idle) return;
  if (at_once) {
    run_items(lock, queue, [items = 0]() mutable { return items++ > 0; });
  } else {
    settle(lock, queue);
  }
  if (serial_) drain_ready(lock);
}

bool Scheduler::is_blocked(const Lock&, const CpuQueue& queue) const {
  return !queue.items_.empty() && queue.items_.front().kind == CpuQueue::Kind::wait &&
         !queue.items_.front().marker->reached_;
}

// Sets the state of a queue that is in no list and that no thread drains, and adds it to the matching list.
void Scheduler::settle(const Lock& lock, CpuQueue& queue) {
  if (queue.items_.empty()) {
    queue.state_ = CpuQueue::State::idle;
    forget_writes(lock, queue);
    return;
  }
  const bool blocked = is_blocked(lock, queue);
  queue.state_ = blocked ? CpuQueue::State::blocked : CpuQueue::State::ready;
  *queue.node_ = queue.shared_from_this();
  QueueList& list = blocked ? queue.items_.front().marker->blocked_ : ready_;
  list.splice(list.end(), queue.home_);
  if (blocked) return;
  if (queue.waiters_ > 0) queue.changed_.notify_all();  // a waiting thread may be faster than a worker
  request_worker(lock);
}

// Removes a queue from its list. The result keeps the queue alive, because the list may have held the last
// reference.
std::shared_ptr<CpuQueue> Scheduler::unlist(const Lock&, CpuQueue& queue) {
  QueueList& list = queue.state_ == CpuQueue::State::blocked ? queue.items_.front().marker->blocked_ : ready_;
  queue.home_.splice(queue.home_.begin(), list, queue.node_);
  queue.state_ = CpuQueue::State::idle;
  return std::move(*queue.node_);
}

// Requests one worker call per queue that becomes ready. A worker that comes too late finds nothing to do.
void Scheduler::request_worker(const Lock&) {
  if (choices_ != nullptr && choices_->alone()) return;
  const auto work = [](void* scheduler) {
    Scheduler& self = *static_cast<Scheduler*>(scheduler);
    Lock lock(self.mutex_);
    self.drain_ready(lock);
    while (self.has_excess_) {
      self.return_memory(lock);
      self.drain_ready(lock);
    }
  };
  WorkerPool* const workers = worker_pool();
  // A system that lacked threads may have some later.
  serial_ = workers == nullptr || !workers->submit(work, this);
}

// A queue that is filled as fast as it is drained must not block the others.
constexpr int kItemsPerTurn = 64;

void Scheduler::drain_ready(Lock& lock) {
  while (!ready_.empty()) {
    int items = 0;
    drain(lock, next_ready(lock),
          [&] { return (++items > kItemsPerTurn && !ready_.empty()) || ends_turn(lock); });
  }
}

void Scheduler::take_turn(Lock& lock) {
  if (ready_.empty()) return;
  int items = 0;
  drain(lock, next_ready(lock), [&] { return ++items > kItemsPerTurn || ends_turn(lock); });
}

std::shared_ptr<CpuQueue> Scheduler::next_ready(const Lock&) const {
  if (choices_ == nullptr) return ready_.front();
  return *std::next(ready_.begin(), static_cast<ptrdiff_t>(choices_->choose(ready_.size())));
}

bool Scheduler::ends_turn(const Lock&) const {
  return choices_ != nullptr && !ready_.empty() && choices_->choose(3) == 0;
}

void Scheduler::let_decide(Choices* choices) {
  const Lock lock(mutex_);
  choices_ = choices;
}

// Removes a ready queue from the list and runs its items.
template <class Stop>
void Scheduler::drain(Lock& lock, std::shared_ptr<CpuQueue> queue, Stop stop) {
  (void)unlist(lock, *queue);
  if (ready_.empty() && !serial_ && !has_excess_) {
    if (WorkerPool* const workers = worker_pool())
      workers->withdraw();  // this thread was faster than the requested workers
  }
  run_items(lock, *queue, std::move(stop));
}

// Runs items of a queue that is in no list on this thread until it is empty, blocked, or stop() returns true.
// The lock is released while a task runs. Without workers no thread would run the rest later, so stop() is
// then ignored.
template <class Stop>
void Scheduler::run_items(Lock& lock, CpuQueue& queue, Stop stop) {
  queue.state_ = CpuQueue::State::running;
  while (!queue.items_.empty() && !is_blocked(lock, queue) && (serial_ || !stop())) {
    // No other thread removes the front item of a running queue, but appending may move it.
    CpuQueue::Item& item = queue.items_.front();
    if (item.kind == CpuQueue::Kind::task) {
      const uint64_t number = item.number;
      const uint64_t sequence = item.sequence;
      const bool counts = !exiting_;
      if (counts) ++running_tasks_;
      {
        // On the stack: its plan may be large and is freed without the lock. A forked child never sees it
        // half freed.
        const Task task = std::move(item.task);
        item.task.lists = task.lists;  // has_pending_write() also checks running tasks
        lock.unlock();
        const ScopedScratch scratch(*queue.scratch_);
        ++tasks_on_this_thread();
        run_task(task, number, *queue.fault_cell);
        --tasks_on_this_thread();
      }
      lock.lock();
      if (counts) --running_tasks_;
      quiet_.notify_all();
      finish_task(lock, sequence);
      if (serial_ && has_excess_) return_memory(lock);  // no worker could do it
    } else if (item.kind == CpuQueue::Kind::record) {
      reach(lock, *item.marker);
    }
    queue.items_.pop_front();
    ++queue.finished_;
    if (queue.finished_ >= queue.awaited_) queue.changed_.notify_all();
  }
  settle(lock, queue);
}

// Marks the marker as reached and resumes all queues that wait for it.
void Scheduler::reach(const Lock& lock, CpuMarker& marker) {
  marker.reached_ = true;
  marker.time_ = Clock::now();
  while (!marker.blocked_.empty()) {
    const std::shared_ptr<CpuQueue> queue = unlist(lock, *marker.blocked_.front());
    settle(lock, *queue);
  }
}

void Scheduler::finish_task(const Lock& lock, uint64_t sequence) {
  done_[sequence - oldest_] = 1;
  while (!done_.empty() && done_.front() != 0) {
    done_.pop_front();
    ++oldest_;
  }
  if (!released_.empty() && released_.begin()->first <= oldest_) free_released(lock);
}

// Returns a queue that can run now and that `queue` depends on. This is `queue` itself, or the queue that
// will reach the marker that blocks it, and so on. Waits refer to earlier records, so there is no cycle.
std::shared_ptr<CpuQueue> Scheduler::runnable_for(const Lock& lock,
                                                  const std::shared_ptr<CpuQueue>& queue) const {
  if (choices_ != nullptr && choices_->alone()) return ready_.empty() ? nullptr : next_ready(lock);
  std::shared_ptr<CpuQueue> candidate = queue;
  while (candidate != nullptr && candidate->state_ == CpuQueue::State::blocked) {
    candidate = candidate->items_.front().marker->queue_.lock();
  }
  return candidate != nullptr && candidate->state_ == CpuQueue::State::ready ? candidate : nullptr;
}

template <class Done>
WaitResult Scheduler::wait_until(Lock& lock, const std::shared_ptr<CpuQueue>& queue, const Deadline& deadline,
                                 uint64_t awaited, Done done) {
  while (!done()) {
    // A waiting thread drains the queue itself: this avoids a hand-over and a wake-up, and works without
    // workers. With a deadline it cannot, because a task may run longer than the deadline.
    if (!deadline) {
      if (std::shared_ptr<CpuQueue> runnable = runnable_for(lock, queue)) {
        // Another queue is drained only until this one can continue.
        const bool helps = queue->state_ == CpuQueue::State::blocked;
        drain(lock, std::move(runnable), [&] {
          return done() || (helps && queue->state_ != CpuQueue::State::blocked) || ends_turn(lock);
        });
        if (serial_) drain_ready(lock);  // queues that became ready after a record
        continue;
      }
    }
    const CancellationHold no_cancellation;
    ++queue->waiters_;
    queue->awaited_ = std::min(queue->awaited_, awaited);
    const bool expired = deadline ? queue->changed_.wait_until(lock, *deadline) == std::cv_status::timeout
                                  : (queue->changed_.wait(lock), false);
    if (--queue->waiters_ == 0) queue->awaited_ = UINT64_MAX;
    if (expired && !done()) return WaitResult::timed_out;
  }
  return WaitResult::done;
}

// Discards tasks and waits that have not started. Markers are reached without them, so that nothing waits for
// them forever. If a task is running, they and waiting threads still wait for this task.
void Scheduler::drop_items(const Lock& lock, CpuQueue& queue) {
  const bool running = queue.state_ == CpuQueue::State::running;
  std::shared_ptr<CpuQueue> alive;
  if (queue.state_ == CpuQueue::State::ready || queue.state_ == CpuQueue::State::blocked)
    alive = unlist(lock, queue);
  for (size_t k = running ? 1 : 0; k < queue.items_.size(); ++k) {
    CpuQueue::Item& item = queue.items_[k];
    if (item.kind == CpuQueue::Kind::record) continue;
    if (item.kind == CpuQueue::Kind::task) finish_task(lock, item.sequence);
    item = {CpuQueue::Kind::dropped, {}, 0, 0, nullptr};
  }
  if (!running) {
    while (!queue.items_.empty()) {
      if (queue.items_.front().kind == CpuQueue::Kind::record) reach(lock, *queue.items_.front().marker);
      queue.items_.pop_front();
      ++queue.finished_;
    }
    forget_writes(lock, queue);
  }
  quiet_.notify_all();
  if (queue.waiters_ > 0) queue.changed_.notify_all();
}

}  // namespace openaclnn::cpu
