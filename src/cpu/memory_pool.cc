// The CPU memory pool: has one lock, which is never held while the system maps, empties or unmaps pages.
#include "cpu/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/cancellation.h"
#include "cpu/arenas.h"
#include "cpu/machine_limits.h"
#include "cpu/mappings.h"
#include "cpu/slabs.h"
#include "runtime/fork.h"

namespace openaclnn::cpu {

namespace {

// Smaller blocks come from arenas. Larger ones have huge pages of their own.
constexpr size_t kLeastMapping = kHugePage;
constexpr size_t kMostKeptOfUnknown = size_t{64} << 20;  // if the size of the machine cannot be read

class MemoryPool final : public ForkGuarded {
 public:
  static MemoryPool& instance() { return *pool_; }

  void* allocate(size_t bytes) {
    void* address = nullptr;
    Lock lock(mutex_);
    while ((address = take(lock, bytes)) == nullptr) {
      if (!extend(lock, bytes)) return nullptr;
    }
    ASAN_UNPOISON_MEMORY_REGION(address, bytes);  // the requested size; the rounding stays poisoned
    return address;
  }

  void free(void* address, size_t bytes) noexcept {
    const Lock lock(mutex_);
    ASAN_POISON_MEMORY_REGION(address, bytes);
    if (bytes <= kLargestSmall) {
      slabs_.put_back(address);
    } else if (bytes < kLeastMapping) {
      arenas_.put_back(address);
    } else {
      mappings_.put_back(address);
    }
    note_excess(lock);
  }

  bool has_excess() const { return has_excess_.load(std::memory_order_relaxed); }
  void return_excess(const BetweenSteps& between) noexcept {
    Lock lock(mutex_);
    return_memory(lock, most_kept_, between);
  }
  void return_all() noexcept {
    Lock lock(mutex_);
    slabs_.put_back_unused();
    return_memory(lock, 0, {});
  }

  // Sets the limit of kept memory until the next mapping.
  void keep_at_most(size_t bytes) {
    const Lock lock(mutex_);
    most_kept_ = bytes;
    note_excess(lock);
  }

  size_t cached_bytes() {
    const Lock lock(mutex_);
    return kept_bytes(lock);
  }

  void before_fork() override { mutex_.lock(); }
  void after_fork_in_parent() override { mutex_.unlock(); }
  void after_fork_in_child() override {
    arenas_.cancel_returns();
    mappings_.cancel_returns();
    returns_ = 0;
    mutex_.unlock();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  MemoryPool() { register_fork_guarded(LockRank::heap, this); }

  void* take(const Lock&, size_t bytes) {
    if (bytes <= kLargestSmall) return slabs_.take(bytes);
    if (bytes < kLeastMapping) return arenas_.take(rounded_up(bytes, page_bytes()));
    return mappings_.take(bytes);
  }

  // Maps the memory that take() lacks for a block of `bytes`. The lock is released during system calls.
  // Excess memory is returned first: workers that always have tasks never return it, and kept memory would
  // grow without bound.
  bool extend(Lock& lock, size_t bytes) {
    const bool is_mapping = bytes >= kLeastMapping;
    const bool huge = is_mapping || arenas_.wants_huge_pages();
    size_t most_kept = most_kept_;
    lock.unlock();
    if (has_excess()) return_excess({});
    if (bytes >
        most_kept) {  // smaller blocks are far below any limit, and reading the limits takes many files
      const std::optional<MemoryInfo> machine = machine_memory();
      if (machine && bytes > machine->total_bytes) return false;  // more memory than the machine has
      most_kept = machine ? machine->total_bytes / 8 : kMostKeptOfUnknown;
    }
    const size_t mapped_bytes = is_mapping ? mapping_bytes(bytes) : kArenaBytes;
    char* mapping = map_pages(mapped_bytes, huge);
    if (mapping == nullptr) {
      return_all();
      wait_for_returns();
      mapping = map_pages(mapped_bytes, huge);
    }
    if (mapping == nullptr) return false;
    lock.lock();
    most_kept_ = most_kept;
    try {
      if (is_mapping) {
        mappings_.add(mapping, mapped_bytes);
      } else {
        arenas_.add(mapping);
      }
    } catch (...) {
      lock.unlock();
      unmap_pages({mapping, mapped_bytes});
      throw;
    }
    return true;
  }

  size_t kept_bytes(const Lock&) const { return mappings_.kept_bytes() + arenas_.kept_bytes(); }

  void note_excess(const Lock& lock) noexcept {
    has_excess_.store(kept_bytes(lock) > most_kept_, std::memory_order_relaxed);
  }

  // Waits until other threads have unmapped the memory that they are returning. Waits a second at most: one
  // of them may be this thread, which returns memory in steps and runs a task between two of them. Polls,
  // because a condition variable could have waiters that do not exist in a forked child.
  void wait_for_returns() const {
    const CancellationHold no_cancellation;
    for (int k = 0; k < 1000 && returns_.load(std::memory_order_acquire) > 0; ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  // Returns kept memory to the system until at most `target_bytes` are left. The lock is released during
  // system calls. Memory that other threads free in the meantime is left to them, so that this terminates.
  void return_memory(Lock& lock, size_t target_bytes, const BetweenSteps& between) noexcept {
    const size_t at_first = kept_bytes(lock);
    returns_.fetch_add(1, std::memory_order_relaxed);
    for (size_t returned = 0; kept_bytes(lock) > target_bytes && returned < at_first;) {
      const bool is_mapping = mappings_.kept_bytes() > 0;
      const size_t before = kept_bytes(lock);
      const Pages pages = is_mapping ? mappings_.begin_return() : arenas_.begin_return();
      returned += before - kept_bytes(lock);
      lock.unlock();
      empty_pages(pages, between);
      lock.lock();
      const Pages unused = is_mapping ? mappings_.end_return(pages) : arenas_.end_return(pages);
      lock.unlock();
      unmap_pages(unused);
      lock.lock();
    }
    returns_.fetch_sub(1, std::memory_order_release);
    note_excess(lock);
  }

  std::mutex mutex_;
  Arenas arenas_;
  Slabs slabs_{arenas_};
  Mappings mappings_;
  std::atomic<int> returns_{0};  // running calls of return_memory()
  size_t most_kept_ = 0;         // set by the first mapping
  std::atomic<bool> has_excess_{false};
  static MemoryPool* const pool_;
};

MemoryPool* const MemoryPool::pool_ = new MemoryPool;

}  // namespace

void* pool_allocate(size_t bytes) noexcept {
  try {
    return MemoryPool::instance().allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}

void pool_free(void* address, size_t bytes) noexcept { MemoryPool::instance().free(address, bytes); }

bool pool_has_excess() noexcept { return MemoryPool::instance().has_excess(); }

void pool_return_excess(const BetweenSteps& between) noexcept {
  MemoryPool::instance().return_excess(between);
}

void pool_return_all() noexcept { MemoryPool::instance().return_all(); }

void pool_keep_at_most(size_t bytes) noexcept { MemoryPool::instance().keep_at_most(bytes); }

std::optional<MemoryInfo> memory_info() noexcept {
  std::optional<MemoryInfo> info = machine_memory();
  if (info)
    info->free_bytes = std::min(info->total_bytes, info->free_bytes + MemoryPool::instance().cached_bytes());
  return info;
}

}  // namespace openaclnn::cpu
