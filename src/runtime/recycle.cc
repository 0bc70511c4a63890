// The lists of blocks: one set per thread without locks, and a shared one through which blocks come back that one thread
// allocates and another one frees, as it happens with every task that a worker runs.
#include "runtime/recycle.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>

#include "base/sanitized.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

// Size classes are powers of two from 64 bytes to 2 MiB: phase 1 of a list of ten thousand tensors is in. Without them the C
// library would map and unmap such blocks in every call, and the page faults would cost more than the checks.
// Class k has blocks of 64 << k bytes.
constexpr size_t kSmallest = 64;
constexpr size_t kClasses = 16;
constexpr size_t kLargest = kSmallest << (kClasses - 1);

// Blocks up to 32 KiB are kept by threads; larger ones, of which a call needs a few, only by the shared list.
constexpr size_t kThreadClasses = 10;

// Blocks that a thread keeps to itself: a few calls' worth. Half of them move at a time, so that a thread that only frees and
// one that only allocates take the lock once for many blocks.
constexpr uint32_t kMostOfThread = 16;
constexpr uint32_t kMoved = kMostOfThread / 2;
// Bytes of a class in the shared list: 2000 queued tasks with plans of 1 KiB, or one block of the largest class. More than that
// is rare and goes to the heap.
constexpr size_t kMostShared = size_t{2} << 20;

size_t class_of(size_t bytes) {
  return static_cast<size_t>(std::bit_width((std::max(bytes, kSmallest) - 1) / kSmallest));
}
size_t class_bytes(size_t size_class) { return kSmallest << size_class; }

// The first bytes of a free block point to the next one.
struct FreeList {
  struct Block {
    Block* next;
  };
  Block* first;
  uint32_t count;

  void push(void* memory) {
    first = ::new (memory) Block{first};
    ++count;
  }
  void* pop() {
    Block* const block = first;
    first = block->next;
    --count;
    return block;
  }
};

class SharedLists {
 public:
  static SharedLists& instance() { return *instance_; }

  // Moves blocks of a class into `list` until it has `wanted`, as far as there are any.
  void fill(size_t size_class, FreeList& list, uint32_t wanted) {
    const std::lock_guard lock(mutex_);
    FreeList& from = lists_[size_class];
    while (list.count < wanted && from.count > 0) list.push(from.pop());
  }
  // Moves blocks out of `list` until it has `left`.
  void drain(size_t size_class, FreeList& list, uint32_t left) noexcept {
    const std::lock_guard lock(mutex_);
    FreeList& to = lists_[size_class];
    while (list.count > left) {
      void* const block = list.pop();
      if (has_space(to, size_class)) {
        to.push(block);
      } else {
        ::operator delete(block);
      }
    }
  }

  // One block, or nullptr.
  void* take(size_t size_class) {
    const std::lock_guard lock(mutex_);
    return lists_[size_class].count > 0 ? lists_[size_class].pop() : nullptr;
  }
  // False when the class is full: the block stays the caller's.
  bool give(size_t size_class, void* block) noexcept {
    const std::lock_guard lock(mutex_);
    if (!has_space(lists_[size_class], size_class)) return false;
    lists_[size_class].push(block);
    return true;
  }

 private:
  static bool has_space(const FreeList& list, size_t size_class) {
    return (list.count + 1) * class_bytes(size_class) <= kMostShared;
  }

  static SharedLists* const instance_;

  ForkSafeMutex mutex_{LockRank::heap};
  std::array<FreeList, kClasses> lists_ = {};
};

SharedLists* const SharedLists::instance_ = new SharedLists;

// Trivially destructible, as all thread-local objects of the library: other destructors of the thread may still come here.
// A pthread key empties the lists when the thread ends; again, if they were filled again.
struct ThreadLists {
  std::array<FreeList, kThreadClasses> lists;
  bool has_exit_hook;
};
thread_local ThreadLists thread_lists = {};

void empty_at_thread_exit(void* argument) {
  auto& of_thread = *static_cast<ThreadLists*>(argument);
  of_thread.has_exit_hook = false;
  for (size_t k = 0; k < kThreadClasses; ++k) SharedLists::instance().drain(k, of_thread.lists[k], 0);
}

// Made while the library loads: a forked child must never wait for another thread's initialisation.
const std::optional<pthread_key_t> kExitHook = []() -> std::optional<pthread_key_t> {
  pthread_key_t created = 0;
  if (pthread_key_create(&created, empty_at_thread_exit) != 0) return std::nullopt;
  return created;
}();

// False when the process has used up its keys: then the thread keeps nothing.
bool keeps_blocks(ThreadLists& of_thread) {
  if (of_thread.has_exit_hook) return true;
  of_thread.has_exit_hook = kExitHook && pthread_setspecific(*kExitHook, &of_thread) == 0;
  return of_thread.has_exit_hook;
}

}  // namespace

void* allocate_recycled(size_t bytes) {
  if (kSanitized || bytes > kLargest) return ::operator new(bytes);
  const size_t size_class = class_of(bytes);
  if (size_class >= kThreadClasses) {
    void* const block = SharedLists::instance().take(size_class);
    return block != nullptr ? block : ::operator new(class_bytes(size_class));
  }
  ThreadLists& of_thread = thread_lists;
  FreeList& list = of_thread.lists[size_class];
  if (list.count == 0 && keeps_blocks(of_thread)) SharedLists::instance().fill(size_class, list, kMoved);
  return list.count > 0 ? list.pop() : ::operator new(class_bytes(size_class));
}

void recycle(void* memory, size_t bytes) noexcept {
  if (kSanitized || bytes > kLargest) {
    ::operator delete(memory);
    return;
  }
  const size_t size_class = class_of(bytes);
  if (size_class >= kThreadClasses) {
    if (!SharedLists::instance().give(size_class, memory)) ::operator delete(memory);
    return;
  }
  ThreadLists& of_thread = thread_lists;
  if (!keeps_blocks(of_thread)) {
    ::operator delete(memory);
    return;
  }
  FreeList& list = of_thread.lists[size_class];
  list.push(memory);
  if (list.count > kMostOfThread) SharedLists::instance().drain(size_class, list, kMoved);
}

}  // namespace openaclnn
