// The list of objects with locks, walked in lock order by the three pthread_atfork handlers.
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

ForkList& fork_list();

void before_fork() {
  fork_list().mutex.lock();
  for (const Entry& entry : fork_list().entries) entry.object->before_fork();
}

void after_fork_in_parent() {
  auto& entries = fork_list().entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) entry->object->after_fork_in_parent();
  fork_list().mutex.unlock();
}

void after_fork_in_child() {
  auto& entries = fork_list().entries;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) entry->object->after_fork_in_child();
  fork_list().mutex.unlock();
}

ForkList& fork_list() {
  static ForkList* const list = [] {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return new ForkList;
  }();
  return *list;
}

}  // namespace

void register_fork_guarded(LockRank rank, ForkGuarded* object) {
  ForkList& list = fork_list();
  const std::lock_guard lock(list.mutex);
  const auto later = std::find_if(list.entries.begin(), list.entries.end(),
                                  [&](const Entry& entry) { return entry.rank > rank; });
  list.entries.insert(later, {rank, object});
}

}  // namespace openaclnn
