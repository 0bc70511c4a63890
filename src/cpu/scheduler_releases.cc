// Frees blocks that queued tasks may use, and returns the memory pool's excess.
#include <new>

#include "base/cancellation.h"
#include "cpu/memory_pool.h"
#include "cpu/scheduler.h"

namespace openaclnn::cpu {

void Scheduler::release_when_done(void* address, size_t bytes, void (*free_memory)(void*, size_t)) {
  Lock lock(mutex_);
  if (!done_.empty()) {
    const uint64_t passed = oldest_ + done_.size();
    try {
      released_.emplace(passed, Released{address, bytes, free_memory});
      return;
    } catch (const std::bad_alloc&) {
      // If the list entry cannot be allocated, waits for the tasks instead, so that the block is not leaked.
      const CancellationHold no_cancellation;
      while (oldest_ < passed) quiet_.wait(lock);
    }
  }
  lock.unlock();
  free_memory(address, bytes);
  if (pool_has_excess()) pool_return_excess({});
}

uint64_t Scheduler::releases() {
  const Lock lock(mutex_);
  return releases_;
}

bool Scheduler::wait_for_release(uint64_t& releases) {
  Lock lock(mutex_);
  const CancellationHold no_cancellation;
  while (releases_ == releases) {
    if (released_.empty() || tasks_on_this_thread() > 0) return false;
    if (released_.begin()->first <= oldest_) {
      free_released(lock);  // a forked child has forgotten the tasks, and none of its own has ended yet
    } else {
      quiet_.wait(lock);
    }
  }
  releases = releases_;
  return true;
}

// Returning memory to the system takes far longer than freeing, and this thread may be running a small task
// of another stream. A worker is therefore requested to return it.
void Scheduler::free_released(const Lock& lock) {
  ++releases_;
  do {
    const Released& block = released_.begin()->second;
    block.free_memory(block.address, block.bytes);
    released_.erase(released_.begin());
  } while (!released_.empty() && released_.begin()->first <= oldest_);
  if (has_excess_ || !pool_has_excess()) return;
  has_excess_ = true;
  if (!serial_) request_worker(lock);
}

// Alternates steps with turns of ready queues: a queue waits for one step at most, and each step for one
// turn.
void Scheduler::return_memory(Lock& lock) {
  has_excess_ = false;
  const auto take_turn = [](void* scheduler) {
    Scheduler& self = *static_cast<Scheduler*>(scheduler);
    Lock own(self.mutex_);
    self.take_turn(own);
  };
  const BetweenSteps between = serial_ ? BetweenSteps() : BetweenSteps{take_turn, this};
  lock.unlock();
  pool_return_excess(between);
  lock.lock();
}

}  // namespace openaclnn::cpu
