// The scheduler: which queue runs where and when. See scheduler.h for what each function promises.
#include "cpu/scheduler.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "cpu/fp_environment.h"
#include "cpu/pool.h"
#include "cpu/threads.h"

namespace openaclnn::cpu {

namespace {

void run_task(const Task& task, uint64_t number, FaultCell& fault_cell) {
  const ScopedFpEnvironment fp_environment;
  const Fault fault = task.run(task.plan.get(), TaskIo{task.data, task.workspace, task.check});
  if (!fault.found() || task.check == CheckMode::silent) return;
  try {
    fault_cell.record(number, task.name, task.describe(fault));
  } catch (...) {
    fault_cell.record(number, task.name, "bad data");  // short enough to need no memory of its own
  }
}

}  // namespace

// ---- markers and queues: every member takes the scheduler's lock ----

bool CpuMarker::complete() const {
  const Scheduler::Lock lock(Scheduler::instance().mutex_);
  return reached_;
}

WaitResult CpuMarker::synchronize(Deadline deadline) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  const std::shared_ptr<CpuQueue> queue = queue_.lock();
  if (reached_ || queue == nullptr) return WaitResult::done;
  return scheduler.wait_until(lock, queue, deadline, [this] { return reached_; });
}

std::optional<uint64_t> CpuQueue::enqueue(Task task) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return std::nullopt;
  Item item{Kind::task, std::move(task), tasks_ + 1, scheduler.oldest_ + scheduler.done_.size(), nullptr};
  scheduler.append(lock, *this, std::move(item));
  const uint64_t number = ++tasks_;
  scheduler.start(lock, *this);
  return number;
}

std::shared_ptr<Marker> CpuQueue::record() {
  auto marker = std::make_shared<CpuMarker>();
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return nullptr;
  marker->queue_ = weak_from_this();
  marker->task_number = tasks_;
  marker->fault_cell = fault_cell;
  scheduler.append(lock, *this, Item{Kind::record, {}, 0, 0, marker});
  scheduler.start(lock, *this);
  return marker;
}

bool CpuQueue::wait_for(std::shared_ptr<Marker> marker) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  if (closed_) return false;
  auto awaited = std::static_pointer_cast<CpuMarker>(std::move(marker));
  if (awaited->reached_) return true;
  scheduler.append(lock, *this, Item{Kind::wait, {}, 0, 0, std::move(awaited)});
  scheduler.start(lock, *this);
  return true;
}

WaitResult CpuQueue::synchronize(Deadline deadline) {
  Scheduler& scheduler = Scheduler::instance();
  Scheduler::Lock lock(scheduler.mutex_);
  const uint64_t target = added_;
  return scheduler.wait_until(lock, shared_from_this(), deadline, [&] { return finished_ >= target; });
}

bool CpuQueue::idle() const {
  const Scheduler::Lock lock(Scheduler::instance().mutex_);
  return items_.empty();
}

void CpuQueue::close(bool drop) {
  Scheduler& scheduler = Scheduler::instance();
  const Scheduler::Lock lock(scheduler.mutex_);
  closed_ = true;
  if (drop) scheduler.drop_items(lock, *this);
}

CpuQueue::CpuQueue() = default;

CpuQueue::~CpuQueue() {
  Scheduler& scheduler = Scheduler::instance();
  const Scheduler::Lock lock(scheduler.mutex_);
  scheduler.queues_.erase(this);
}

// ---- the scheduler ----

Scheduler& Scheduler::instance() {
  static Scheduler* const scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler() {
  register_fork_guarded(LockRank::scheduler, this);
  std::atexit([] { instance().at_exit(); });
}

std::shared_ptr<CpuQueue> Scheduler::make_queue() {
  auto queue = std::make_shared<CpuQueue>();
  const Lock lock(mutex_);
  queues_.insert(queue.get());
  return queue;
}

// Appends without starting anything; on an exception nothing has changed.
void Scheduler::append(const Lock&, CpuQueue& queue, CpuQueue::Item item) {
  const bool is_task = item.kind == CpuQueue::Kind::task;
  if (is_task) done_.push_back(0);
  try {
    queue.items_.push_back(std::move(item));
  } catch (...) {
    if (is_task) done_.pop_back();
    throw;
  }
  ++queue.added_;
}

bool Scheduler::is_blocked(const Lock&, const CpuQueue& queue) const {
  return !queue.items_.empty() && queue.items_.front().kind == CpuQueue::Kind::wait &&
         !queue.items_.front().marker->reached_;
}

// Joins the list of the marker that the queue's next item waits for.
void Scheduler::block(const Lock&, CpuQueue& queue) {
  CpuMarker& marker = *queue.items_.front().marker;
  queue.next_ = std::move(marker.first_blocked_);
  marker.first_blocked_ = queue.shared_from_this();
}

// Called after an append: sets a queue that was empty going.
void Scheduler::start(Lock& lock, CpuQueue& queue) {
  if (queue.running_ || queue.ready_ || queue.items_.size() != 1) return;
  if (is_blocked(lock, queue)) {
    block(lock, queue);
    return;
  }
  make_ready(lock, queue);
  if (serial_) drain_ready(lock);
}

// Puts the queue in the ready list and asks for a worker. Without one, whoever waits for the queue drains it.
void Scheduler::make_ready(const Lock&, CpuQueue& queue) {
  if (queue.running_ || queue.ready_) return;
  queue.ready_ = true;
  (last_ready_ != nullptr ? last_ready_->next_ : first_ready_) = queue.shared_from_this();
  last_ready_ = &queue;
  if (serial_) return;
  if (Pool* workers = pool()) {
    workers->submit(
        [](void* scheduler) {
          Scheduler& self = *static_cast<Scheduler*>(scheduler);
          Lock lock(self.mutex_);
          self.drain_ready(lock);
        },
        this);
  }
}

void Scheduler::drain_ready(Lock& lock) {
  while (first_ready_ != nullptr) {
    const std::shared_ptr<CpuQueue> queue = std::move(first_ready_);
    first_ready_ = std::move(queue->next_);
    if (first_ready_ == nullptr) last_ready_ = nullptr;
    queue->ready_ = false;
    // A waiting thread may have drained it meanwhile, or be draining it.
    if (queue->running_ || queue->items_.empty() || is_blocked(lock, *queue)) continue;
    drain(lock, queue, [] { return false; });
  }
}

// Runs items on this thread until the queue is empty, blocked, or stop() holds. The lock is released while a task runs.
template <class Stop>
void Scheduler::drain(Lock& lock, const std::shared_ptr<CpuQueue>& queue, Stop stop) {
  queue->running_ = true;
  while (!queue->items_.empty() && !is_blocked(lock, *queue) && !stop()) {
    // Nobody else removes the front item of a running queue, and appending to a deque moves nothing.
    CpuQueue::Item& item = queue->items_.front();
    if (item.kind == CpuQueue::Kind::task) {
      ++running_tasks_;
      lock.unlock();
      run_task(item.task, item.number, *queue->fault_cell);
      lock.lock();
      if (--running_tasks_ == 0) quiet_.notify_all();
      finish_task(lock, item.sequence);
    } else if (item.kind == CpuQueue::Kind::record) {
      reach(lock, *item.marker);
    }
    queue->items_.pop_front();
    ++queue->finished_;
    if (queue->waiters_ > 0) queue->changed_.notify_all();
  }
  queue->running_ = false;
  if (is_blocked(lock, *queue)) {
    block(lock, *queue);
  } else if (!queue->items_.empty()) {
    make_ready(lock, *queue);
  }
}

// The marker's point is reached: everything that waits for it may go on.
void Scheduler::reach(const Lock& lock, CpuMarker& marker) {
  marker.reached_ = true;
  marker.time_ = Clock::now();
  std::shared_ptr<CpuQueue> blocked = std::move(marker.first_blocked_);
  while (blocked != nullptr) {
    std::shared_ptr<CpuQueue> next = std::move(blocked->next_);
    make_ready(lock, *blocked);
    if (blocked->waiters_ > 0) blocked->changed_.notify_all();
    blocked = std::move(next);
  }
}

void Scheduler::finish_task(const Lock&, uint64_t sequence) {
  done_[sequence - oldest_] = 1;
  while (!done_.empty() && done_.front() != 0) {
    done_.pop_front();
    ++oldest_;
  }
  while (!released_.empty() && released_.begin()->first <= oldest_) {
    const Released& block = released_.begin()->second;
    block.free_memory(block.address, block.bytes);
    released_.erase(released_.begin());
  }
}

void Scheduler::release_when_done(void* address, size_t bytes, void (*free_memory)(void*, size_t)) {
  Lock lock(mutex_);
  if (!done_.empty()) {
    const uint64_t passed = oldest_ + done_.size();
    try {
      released_.emplace(passed, Released{address, bytes, free_memory});
      return;
    } catch (const std::bad_alloc&) {
      // No memory even for the note: wait here for the tasks instead, so that the block is not lost.
      while (oldest_ < passed) quiet_.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
  free_memory(address, bytes);
}

// A queue that can run now and whose progress `queue` waits for: itself, or the one that will reach the point it is
// blocked on, and so on. Waits capture records made earlier, so there is no cycle.
std::shared_ptr<CpuQueue> Scheduler::runnable_for(const Lock& lock, const std::shared_ptr<CpuQueue>& queue) const {
  std::shared_ptr<CpuQueue> candidate = queue;
  while (candidate != nullptr && is_blocked(lock, *candidate)) {
    candidate = candidate->items_.front().marker->queue_.lock();
  }
  if (candidate == nullptr || candidate->running_ || candidate->items_.empty()) return nullptr;
  return candidate;
}

template <class Done>
WaitResult Scheduler::wait_until(Lock& lock, const std::shared_ptr<CpuQueue>& queue, const Deadline& deadline, Done done) {
  while (!done()) {
    // A thread that has nothing better to do than wait drains the queue itself: no hand-over, no wake-up, and progress even
    // without workers. With a deadline it cannot, since a task once started may outlast it.
    if (!deadline) {
      if (const std::shared_ptr<CpuQueue> runnable = runnable_for(lock, queue)) {
        drain(lock, runnable, done);
        continue;
      }
    }
    ++queue->waiters_;
    const bool expired =
        deadline ? queue->changed_.wait_until(lock, *deadline) == std::cv_status::timeout : (queue->changed_.wait(lock), false);
    --queue->waiters_;
    if (expired && !done()) return WaitResult::timed_out;
  }
  return WaitResult::done;
}

// Discards what has not started. Points recorded there count as reached, so that nobody waits for them forever.
void Scheduler::drop_items(const Lock& lock, CpuQueue& queue) {
  if (is_blocked(lock, queue) && !queue.running_) {  // leave the marker's list
    std::shared_ptr<CpuQueue>* link = &queue.items_.front().marker->first_blocked_;
    while (*link != nullptr && link->get() != &queue) link = &(*link)->next_;
    if (*link != nullptr) {
      std::shared_ptr<CpuQueue> next = std::move(queue.next_);
      *link = std::move(next);
    }
  }
  const size_t keep = queue.running_ ? 1 : 0;
  while (queue.items_.size() > keep) {
    const CpuQueue::Item item = std::move(queue.items_.back());
    queue.items_.pop_back();
    ++queue.finished_;
    if (item.kind == CpuQueue::Kind::task) finish_task(lock, item.sequence);
    if (item.kind == CpuQueue::Kind::record) reach(lock, *item.marker);
  }
  if (queue.waiters_ > 0) queue.changed_.notify_all();
}

// The child has one thread and none of the parent's: what was queued runs in the parent only, and what comes now runs on the
// calling thread.
void Scheduler::after_fork_in_child() {
  serial_ = true;
  abandon_pool();
  first_ready_ = nullptr;
  last_ready_ = nullptr;
  running_tasks_ = 0;
  new (&quiet_) std::condition_variable;  // its waiters do not exist here; destroying it would wait for them
  for (CpuQueue* queue : queues_) {
    for (CpuQueue::Item& item : queue->items_) {
      if (item.kind != CpuQueue::Kind::task) {
        item.marker->reached_ = true;
        item.marker->first_blocked_ = nullptr;
      }
    }
    queue->items_.clear();
    queue->finished_ = queue->added_;
    queue->running_ = queue->ready_ = false;
    queue->waiters_ = 0;
    queue->next_ = nullptr;
    new (&queue->changed_) std::condition_variable;
  }
  oldest_ += done_.size();
  done_.clear();  // blocks waiting in released_ are freed with the next task
  mutex_.unlock();
}

// Tasks that have not started are dropped, running ones are waited for: after this the caller's static destructors may free
// tensor memory. Work enqueued later, by such destructors, runs on the enqueueing thread.
void Scheduler::at_exit() {
  Lock lock(mutex_);
  serial_ = true;
  abandon_pool();
  for (CpuQueue* queue : queues_) drop_items(lock, *queue);
  // The limit only matters when exit() is called from a signal handler that interrupted a task.
  quiet_.wait_for(lock, std::chrono::seconds(10), [this] { return running_tasks_ == 0; });
}

}  // namespace openaclnn::cpu
