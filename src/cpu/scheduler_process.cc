// What the scheduler does when the process forks and when it exits.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/cancellation.h"
#include "cpu/scheduler.h"
#include "cpu/threads.h"

namespace openaclnn::cpu {

int& Scheduler::tasks_on_this_thread() {
  thread_local int count = 0;
  return count;
}

// exit() runs handlers and the destructors of statics last to first, so the handler must be registered after the statics
// that hold tensor memory were made. It is registered when the count of tasks reaches a power of two: late enough for
// statics made between the first calls, at most 64 times. Under the lock, so that no fork() finds the C library's own lock of its
// list of handlers taken.
void Scheduler::arm_exit_handler(const Lock&) {
  if (std::has_single_bit(++enqueued_)) std::atexit([] { instance().at_exit(); });
}

// The child has one thread and none of the parent's: what was queued runs in the parent only, and what comes now runs on the
// calling thread.
void Scheduler::after_fork_in_child() {
  serial_ = true;
  abandon_worker_pool();
  running_tasks_ = 0;
  new (&quiet_) std::condition_variable;  // its waiters do not exist here; destroying it would wait for them
  {
    const Lock lock(mutex_, std::adopt_lock);
    // Weak references one by one, twice: nothing here may allocate.
    for (const std::weak_ptr<CpuQueue>& entry : queues_) {
      const std::shared_ptr<CpuQueue> queue = entry.lock();
      if (queue == nullptr) continue;
      const bool listed =
          queue->state_ == CpuQueue::State::ready || queue->state_ == CpuQueue::State::blocked;
      if (listed) (void)unlist(lock, *queue);
    }
    for (const std::weak_ptr<CpuQueue>& entry : queues_) {
      const std::shared_ptr<CpuQueue> queue = entry.lock();
      if (queue == nullptr) continue;
      for (size_t k = 0; k < queue->items_.size(); ++k) {
        const CpuQueue::Item& item = queue->items_[k];
        if (item.kind == CpuQueue::Kind::record) reach(lock, *item.marker);
      }
      queue->items_.clear();
      forget_writes(lock, *queue);
      queue->finished_ = queue->added_;
      queue->state_ = CpuQueue::State::idle;
      queue->waiters_ = 0;
      queue->awaited_ = UINT64_MAX;
      new (&queue->changed_) std::condition_variable;
    }
    oldest_ += done_.size();
    done_.clear();  // blocks waiting in released_ are freed with the next task
  }
}

// Tasks that have not started are dropped, running ones are waited for: after this the caller's static destructors may free
// tensor memory. Work enqueued later, by such destructors, runs on the enqueueing thread.
void Scheduler::at_exit() {
  Lock lock(mutex_);
  serial_ = true;
  exiting_ = true;
  abandon_worker_pool();
  // Weak references one by one: nothing here may allocate.
  for (size_t k = 0; k < queues_.size(); ++k) {
    if (const std::shared_ptr<CpuQueue> queue = queues_[k].lock()) drop_items(lock, *queue);
  }
  const CancellationHold no_cancellation;
  // A task of this very thread, which exit() then ended in the middle, cannot be waited for.
  quiet_.wait(lock, [this] { return running_tasks_ <= tasks_on_this_thread(); });
}

}  // namespace openaclnn::cpu
