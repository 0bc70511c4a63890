// The list of objects with locks. The three pthread_atfork handlers process it in lock order.
#include "runtime/fork.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace openaclnn {

namespace {

struct Entry {
  LockRank rank;
  ForkGuarded* object;
};

struct ForkList {
  std::mutex mutex;
  std::vector<Entry> entries;  // in lock order
};

// Created by the first object that registers, while the library loads.
ForkList* fork_list = nullptr;

void before_fork() {
  fork_list->mutex.lock();
  for (const Entry& entry : fork_list->entries) entry.object->before_fork();
}

void after_fork_in_parent() {
  auto& entries = fork_list->entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) entry->object->after_fork_in_parent();
  fork_list->mutex.unlock();
}

void after_fork_in_child() {
  auto& entries = fork_list->entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) entry->object->after_fork_in_child();
  fork_list->mutex.unlock();
}

}  // namespace

void register_fork_guarded(LockRank rank, ForkGuarded* object) {
  if (fork_list == nullptr) {
    fork_list = new ForkList;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }
  const std::lock_guard lock(fork_list->mutex);
  const auto later = std::find_if(fork_list->entries.begin(), fork_list->entries.end(),
                                  [&](const Entry& entry) { return entry.rank > rank; });
  fork_list->entries.insert(later, {rank, object});
}

void ForkSafeMutex::before_fork() { mutex_.lock(); }
void ForkSafeMutex::after_fork_in_parent() { mutex_.unlock(); }
void ForkSafeMutex::after_fork_in_child() { mutex_.unlock(); }

}  // namespace openaclnn
