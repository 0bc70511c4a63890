// Keeps the library usable in a forked child: every lock is held across fork(), and the child starts with a clean queue.
#pragma once

#include <mutex>

namespace openaclnn {

// Something with locks that must not be held by a vanished thread in the child. Registered once, never removed. All of them
// are made while the library loads: one that a thread is just making when another forks would stay half made in the child.
class ForkGuarded {
 public:
  virtual void before_fork() = 0;           // take every lock
  virtual void after_fork_in_parent() = 0;  // release them
  virtual void after_fork_in_child() = 0;   // release them, and forget what other threads were doing

 protected:
  ~ForkGuarded() = default;
};

// The order in which locks are taken, here and everywhere: a thread that holds one may take only later ones.
enum class LockRank { runtime, handles, memory, scheduler, heap, faults };

void register_fork_guarded(LockRank rank, ForkGuarded* object);

// A mutex that works in a forked child. Like all that is registered, it is made while the library loads and never destroyed.
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
