// Free lists: one set per thread without locks, and a shared set. Blocks that one thread allocates and
// another frees return through the shared set. This happens with every task that a worker runs.
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

// Size classes are powers of two from 64 bytes to 2 MiB, enough for phase 1 of a list of ten thousand
// tensors. Without them the C library would map and unmap such blocks in every call, and the page faults
// would cost more than the checks. Class k has blocks of 64 << k bytes.
constexpr size_t kSmallest = 64;
constexpr size_t kClasses = 16;
constexpr size_t kLargest = kSmallest << (kClasses - 1);

// Threads keep blocks of up to 32 KiB. Only the shared list keeps larger ones, of which a call needs few.
constexpr size_t kThreadClasses = 10;

// Blocks of a class that a thread keeps, enough for a few calls. Half of them move at a time: a thread that
// only frees, or one that only allocates, takes the lock once for many blocks.
constexpr uint32_t kMostOfThread = 16;
constexpr uint32_t kMoved = kMostOfThread / 2;
// Bytes of a class in the shared list: 2000 queued tasks with plans of 1 KiB, or one block of the largest
// class. More is rare and uses the heap.
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

  // Moves blocks of a class into `list` until it has `wanted` blocks or none are left.
  void fill(size_t size_class, FreeList& list, uint32_t wanted) {
    const std::lock_guard lock(mutex_);
    FreeList& from = lists_[size_class];
    while (list.count < wanted && from.count > 0) list.push(from.pop());
  }
  // Moves blocks out of `list` until it has `left` blocks.
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

  // Returns one block, or nullptr.
  void* take(size_t size_class) {
    const std::lock_guard lock(mutex_);
    return lists_[size_class].count > 0 ? lists_[size_class].pop() : nullptr;
  }
  // Returns false if the class is full. The caller then keeps the block.
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

// Trivially destructible, like all thread-local objects of the library, because other destructors of the
// thread may still use it. A pthread key empties the lists when the thread ends, and again if they are
// refilled.
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

// Initialised while the library loads: a forked child must never wait for another thread's initialisation.
const std::optional<pthread_key_t> kExitHook = []() -> std::optional<pthread_key_t> {
  pthread_key_t created = 0;
  if (pthread_key_create(&created, empty_at_thread_exit) != 0) return std::nullopt;
  return created;
}();

// Returns false if the process has used up its keys. The thread then keeps no blocks.
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
