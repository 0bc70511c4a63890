// Keeps the library usable in a forked child: fork() holds every lock, and the child starts with an empty
// queue.
#pragma once

#include <mutex>

namespace openaclnn {

// An object whose locks must not stay held by a vanished thread in the child. Registered once, never removed.
// All are created while the library loads: an object under construction during a fork would stay incomplete
// in the child.
class ForkGuarded {
 public:
  virtual void before_fork() = 0;           // take every lock
  virtual void after_fork_in_parent() = 0;  // release them
  virtual void after_fork_in_child() = 0;   // release them, and forget what other threads were doing

 protected:
  ~ForkGuarded() = default;
};

// The order in which locks are taken everywhere: a thread that holds one may take only later ones.
enum class LockRank { runtime, handles, memory, scheduler, heap, faults, dumps };

void register_fork_guarded(LockRank rank, ForkGuarded* object);

// A mutex that works in a forked child. Like all registered objects, it is created while the library loads
// and never destroyed.
class ForkSafeMutex final : ForkGuarded {
 public:
  explicit ForkSafeMutex(LockRank rank) { register_fork_guarded(rank, this); }
  ForkSafeMutex(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  std::mutex mutex_;
};

}  // namespace openaclnn
