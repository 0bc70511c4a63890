// The CPU memory pool.
#include "cpu/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "base/checked.h"
#include "runtime/fork.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace openaclnn::cpu {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallest = 64;
constexpr size_t kLargestSmall = size_t{512} << 10;

// Four size classes per power of two waste at most a quarter: 64, 80 rounded to 128, 192, 256, 320, 384, 448, 512, 640, …
size_t class_bytes(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const size_t step = std::max<size_t>(std::bit_floor(bytes - 1) / 4, kSmallest);
  return (bytes + step - 1) / step * step;
}

size_t large_bytes(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Fresh zero pages, aligned to 2 MB; nullptr when the kernel refuses.
void* map_aligned(size_t bytes) {
  const size_t padded = bytes + kHugePage;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) munmap(raw, aligned - begin);
  const uintptr_t end = aligned + bytes;
  if (begin + padded > end) munmap(reinterpret_cast<void*>(end), begin + padded - end);
  void* address = reinterpret_cast<void*>(aligned);
  (void)madvise(address, bytes, MADV_HUGEPAGE);  // a hint: without huge pages everything still works
  return address;
}

size_t read_number(const char* path, size_t otherwise) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return otherwise;
  size_t value = otherwise;
  if (std::fscanf(file, "%zu", &value) != 1) value = otherwise;
  std::fclose(file);
  return value;
}

struct SizeClass {
  std::vector<void*> free;
  size_t objects = 0;  // ever made; the capacity of `free`, so that freeing never allocates
};

class MemoryPool final : public ForkGuarded {
 public:
  static MemoryPool& instance() { return *pool_; }

  void* allocate(size_t bytes) {
    const std::lock_guard lock(mutex_);
    void* address =
        bytes <= kLargestSmall ? allocate_small(class_bytes(bytes)) : allocate_large(large_bytes(bytes));
    if (address != nullptr) ASAN_UNPOISON_MEMORY_REGION(address, bytes);
    return address;
  }

  void free(void* address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    ASAN_POISON_MEMORY_REGION(address, bytes);
    if (bytes <= kLargestSmall) {
      classes_[class_bytes(bytes)].free.push_back(address);  // capacity was reserved when the object was made
    } else {
      free_large(address, large_bytes(bytes));
    }
  }

  size_t cached_bytes() {
    const std::lock_guard lock(mutex_);
    return cached_bytes_;
  }

  void before_fork() override { mutex_.lock(); }
  void after_fork_in_parent() override { mutex_.unlock(); }
  void after_fork_in_child() override { mutex_.unlock(); }

 private:
  MemoryPool() { register_fork_guarded(LockRank::heap, this); }

  friend MemoryInfo openaclnn::cpu::memory_info() noexcept;
  static MemoryInfo memory_info_of_machine();

  void* allocate_small(size_t bytes) {
    SizeClass& size_class = classes_[bytes];
    if (size_class.free.empty()) {
      if (slab_left_ < bytes) {
        // What is left of the old slab is less than one object and stays unused: at most a quarter of it.
        void* slab = map_aligned(kHugePage);
        if (slab == nullptr) return nullptr;
        ASAN_POISON_MEMORY_REGION(slab, kHugePage);
        slab_at_ = static_cast<char*>(slab);
        slab_left_ = kHugePage;
      }
      if (size_class.free.capacity() <= size_class.objects)
        size_class.free.reserve(2 * size_class.objects + 16);
      ++size_class.objects;
      size_class.free.push_back(slab_at_);
      slab_at_ += bytes;
      slab_left_ -= bytes;
    }
    void* address = size_class.free.back();
    size_class.free.pop_back();
    return address;
  }

  void* allocate_large(size_t bytes) {
    // A cached block up to an eighth larger than asked serves too; its true size is kept in large_.
    const auto cached = cached_.lower_bound(bytes);
    if (cached != cached_.end() && cached->first <= bytes + bytes / 8) {
      void* address = cached->second;
      const size_t actual = cached->first;
      const auto entry = large_.emplace(address, std::pair(actual, Node())).first;
      entry->second.second = cached_.extract(cached);
      cached_bytes_ -= actual;
      return address;
    }
    const size_t total_bytes = memory_info_of_machine().total_bytes;
    if (bytes > total_bytes) return nullptr;  // it could never be touched
    most_cached_ = total_bytes / 8;
    // The node of the cache is made now, so that freeing never allocates.
    const auto placeholder = cached_.emplace(bytes, nullptr);
    auto node = cached_.extract(placeholder);
    const auto entry = large_.emplace(nullptr, std::pair(bytes, Node())).first;
    void* address = map_aligned(bytes);
    if (address == nullptr && cached_bytes_ > 0) {
      trim_cache(0);
      address = map_aligned(bytes);
    }
    auto large_node = large_.extract(entry);
    if (address == nullptr) return nullptr;
    ASAN_POISON_MEMORY_REGION(address,
                              bytes);  // allocate() opens what was asked for; the rounding stays closed
    large_node.key() = address;
    large_node.mapped().second = std::move(node);
    large_.insert(std::move(large_node));
    return address;
  }

  void free_large(void* address, size_t) {
    auto taken = large_.extract(address);
    const size_t actual = taken.mapped().first;
    Node node = std::move(taken.mapped().second);
    node.mapped() = address;
    cached_.insert(std::move(node));
    cached_bytes_ += actual;
    ASAN_POISON_MEMORY_REGION(address, actual);
    trim_cache(most_cached_);
  }

  void trim_cache(size_t target_bytes) {
    while (cached_bytes_ > target_bytes) {
      const auto largest = std::prev(cached_.end());
      ASAN_UNPOISON_MEMORY_REGION(largest->second, largest->first);
      munmap(largest->second, largest->first);
      cached_bytes_ -= largest->first;
      cached_.erase(largest);
    }
  }

  using Cache = std::multimap<size_t, void*>;
  using Node = Cache::node_type;

  std::mutex mutex_;
  std::map<size_t, SizeClass> classes_;
  char* slab_at_ = nullptr;
  size_t slab_left_ = 0;
  Cache cached_;  // freed large blocks by size
  std::map<void*, std::pair<size_t, Node>>
      large_;  // live large blocks: size, and the cache node they will become
  size_t cached_bytes_ = 0;
  size_t most_cached_ = 0;
  static MemoryPool* const pool_;
};

MemoryPool* const MemoryPool::pool_ = new MemoryPool;

MemoryInfo MemoryPool::memory_info_of_machine() {
  size_t total = 0;
  size_t available = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "re")) {
    std::array<char, 128> line;
    while (std::fgets(line.data(), line.size(), file) != nullptr) {
      size_t kibibytes = 0;
      if (std::sscanf(line.data(), "MemTotal: %zu", &kibibytes) == 1) total = kibibytes << 10;
      if (std::sscanf(line.data(), "MemAvailable: %zu", &kibibytes) == 1) available = kibibytes << 10;
    }
    std::fclose(file);
  }
  if (total == 0) total = available = PTRDIFF_MAX;  // no /proc: let mmap decide
  const size_t limit = read_number("/sys/fs/cgroup/memory.max", total);
  if (limit < total) {
    const size_t used = read_number("/sys/fs/cgroup/memory.current", 0);
    total = limit;
    available = std::min(available, limit > used ? limit - used : 0);
  }
  return {available, total};
}

}  // namespace

void* pool_allocate(size_t bytes) noexcept {
  try {
    return MemoryPool::instance().allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}

void pool_free(void* address, size_t bytes) noexcept { MemoryPool::instance().free(address, bytes); }

MemoryInfo memory_info() noexcept {
  MemoryInfo info = MemoryPool::memory_info_of_machine();
  info.free_bytes = std::min(info.total_bytes, info.free_bytes + MemoryPool::instance().cached_bytes());
  return info;
}

}  // namespace openaclnn::cpu
