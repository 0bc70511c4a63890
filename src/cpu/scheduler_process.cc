// The scheduler's behaviour at fork() and exit.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "base/cancellation.h"
#include "cpu/scheduler.h"
#include "cpu/threads.h"
#include "runtime/task_fault.h"

namespace openaclnn::cpu {

int& Scheduler::tasks_on_this_thread() {
  thread_local int count = 0;
  return count;
}

// exit() runs handlers and destructors of static objects in reverse order. The handler must therefore be
// registered after the static objects that hold tensor memory are created. It is registered whenever the
// number of tasks reaches a power of two. This is late enough for static objects created between the first
// calls, and happens at most 64 times. It happens under the lock, so that no fork() finds the C library's
// lock of its handler list taken.
void Scheduler::arm_exit_handler(const Lock&) {
  if (std::has_single_bit(++enqueued_)) std::atexit([] { instance().at_exit(); });
}

// The child has one thread and none of the parent's. Tasks that were queued run only in the parent; new tasks
// run on the calling thread.
void Scheduler::after_fork_in_child() {
  serial_ = true;
  abandon_worker_pool();
  running_tasks_ = 0;
  new (&quiet_) std::condition_variable;  // its waiters do not exist here; destroying it would wait for them
  {
    const Lock lock(mutex_, std::adopt_lock);
    // Locks weak references one by one, twice, because nothing here may allocate.
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

namespace {

std::string describe_exit(const Fault&) {
  return "did not run, because the process ended first; synchronise the stream before main() returns or "
         "exit() is called";
}
std::string describe_destroyed(const Fault&) {
  return "did not run, because aclrtDestroyStreamForce destroyed its stream";
}

}  // namespace

// Reports the queue's tasks that have not started as faults. At exit, later calls return them. If the stream is
// destroyed, only callers that wait for their own task learn of it.
void Scheduler::report_dropped(const Lock&, const CpuQueue& queue, DropReason reason) {
  const DescribeFunction describe = reason == DropReason::exit ? describe_exit : describe_destroyed;
  const size_t first = queue.state_ == CpuQueue::State::running ? 1 : 0;
  for (size_t k = first; k < queue.items_.size(); ++k) {
    const CpuQueue::Item& item = queue.items_[k];
    const bool is_awaited = reason == DropReason::exit || item.task.report != nullptr;
    if (item.kind == CpuQueue::Kind::task && is_awaited)
      record_fault(item.task, item.number, *queue.fault_cell, describe, Fault());
  }
}

// Drops tasks that have not started and waits for running ones, so that the caller's static destructors may
// free tensor memory. Tasks that such destructors enqueue run on the enqueueing thread.
void Scheduler::at_exit() {
  Lock lock(mutex_);
  serial_ = true;
  exiting_ = true;
  abandon_worker_pool();
  // Locks weak references one by one, because nothing here may allocate.
  for (size_t k = 0; k < queues_.size(); ++k) {
    if (const std::shared_ptr<CpuQueue> queue = queues_[k].lock()) {
      report_dropped(lock, *queue, DropReason::exit);
      drop_items(lock, *queue);
    }
  }
  const CancellationHold no_cancellation;
  // A task of this thread, which exit() ended midway, cannot be waited for.
  quiet_.wait(lock, [this] { return running_tasks_ <= tasks_on_this_thread(); });
  // Nor would markers behind it ever be reached.
  for (size_t k = 0; k < queues_.size(); ++k) {
    const std::shared_ptr<CpuQueue> queue = queues_[k].lock();
    if (queue == nullptr || queue->state_ != CpuQueue::State::running) continue;
    for (size_t n = 1; n < queue->items_.size(); ++n) {
      if (queue->items_[n].kind == CpuQueue::Kind::record) reach(lock, *queue->items_[n].marker);
    }
  }
}

}  // namespace openaclnn::cpu
