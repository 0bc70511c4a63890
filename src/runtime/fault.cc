// The fault cell. Faults are rare, so all cells share one lock; that also keeps fork() simple.
#include "runtime/fault.h"

#include <mutex>

#include "base/text.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

class CellLock final : public ForkGuarded {
 public:
  CellLock() { register_fork_guarded(LockRank::faults, this); }
  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override { mutex.unlock(); }
  std::mutex mutex;
};

std::mutex& cell_mutex() {
  static CellLock* const lock = new CellLock;
  return lock->mutex;
}

}  // namespace

void FaultCell::record(uint64_t task_number, const char* operator_name, std::string description) {
  const std::lock_guard lock(cell_mutex());
  if (filled_) {
    ++further_tasks_;
    return;
  }
  sentence_ = text(operator_name, " (stream ", stream_number_, ", task ", task_number, "): ", description);
  task_number_ = task_number;
  further_tasks_ = 0;
  filled_ = true;
}

std::optional<std::string> FaultCell::take(uint64_t last_task) {
  const std::lock_guard lock(cell_mutex());
  if (!filled_ || task_number_ > last_task) return std::nullopt;
  filled_ = false;
  if (further_tasks_ > 0) {
    sentence_ += text("; ", further_tasks_, further_tasks_ == 1 ? " further task" : " further tasks", " faulted");
  }
  return std::move(sentence_);
}

}  // namespace openaclnn
