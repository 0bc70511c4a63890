// Tracks the memory that queued tasks will write. Each copy from memory that the caller may reuse at once
// checks it, so the check must stay fast with thousands of streams.
#include <algorithm>
#include <cstdint>

#include "cpu/scheduler.h"

namespace openaclnn::cpu {

namespace {

// Calls f(range) for all memory that the task writes.
template <class F>
void for_each_written(const Task& task, const F& f) {
  for (const MemoryRange& range : task.written) f(range);
  if (task.lists == nullptr) return;
  for (const MemoryRange& range : task.lists->written) f(range);
}

uintptr_t begin_of(const MemoryRange& range) { return reinterpret_cast<uintptr_t>(range.begin); }
uintptr_t end_of(const MemoryRange& range) { return begin_of(range) + range.bytes; }

}  // namespace

// Extends the bounds of the queue's entry to include the task's writes. The bounds grow until the queue is
// idle.
void Scheduler::note_writes(const Lock&, CpuQueue& queue, const Task& task) {
  for_each_written(task, [&](const MemoryRange& range) {
    if (range.bytes == 0) return;
    if (queue.writing_at_ == CpuQueue::kNotWriting) {
      queue.writing_at_ = writing_.size();
      writing_.push_back({begin_of(range), end_of(range), &queue});  // make_queue() reserved the capacity
      return;
    }
    WritingQueue& entry = writing_[queue.writing_at_];
    entry.begin = std::min(entry.begin, begin_of(range));
    entry.end = std::max(entry.end, end_of(range));
  });
}

void Scheduler::forget_writes(const Lock&, CpuQueue& queue) {
  if (queue.writing_at_ == CpuQueue::kNotWriting) return;
  writing_.back().queue->writing_at_ = queue.writing_at_;
  writing_[queue.writing_at_] = writing_.back();
  writing_.pop_back();
  queue.writing_at_ = CpuQueue::kNotWriting;
}

bool Scheduler::has_pending_write(const MemoryRange& range) {
  const uintptr_t begin = begin_of(range);
  const uintptr_t end = end_of(range);
  const Lock lock(mutex_);
  for (const WritingQueue& entry : writing_) {
    if (end <= entry.begin || entry.end <= begin) continue;
    for (size_t k = 0; k < entry.queue->items_.size(); ++k) {
      bool meets = false;
      for_each_written(entry.queue->items_[k].task,
                       [&](const MemoryRange& written) { meets = meets || written.meets(range); });
      if (meets) return true;
    }
  }
  return false;
}

}  // namespace openaclnn::cpu
