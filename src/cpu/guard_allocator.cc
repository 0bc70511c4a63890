// The guard allocator: one mapping per block, [guard page | margin, block, margin | guard page].
#include "cpu/guard_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "base/text.h"
#include "cpu/memory_pool.h"
#include "runtime/fork.h"

namespace openaclnn::cpu {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLarge = size_t{1} << 20;
constexpr unsigned char kFilling = 0xFF;
constexpr unsigned char kMargin = 0xA5;

struct GuardedBlock {
  char* mapping;
  size_t mapping_bytes;
  char* first;  // of the accessible pages
  char* last;   // end of the accessible pages
};

size_t guarded_bytes(size_t bytes) {
  return rounded_up(rounded_up(bytes, kAlignment), page_bytes()) + 2 * page_bytes();
}

GuardedBlock guarded_block_of(const void* block, size_t bytes) {
  char* const last = static_cast<char*>(const_cast<void*>(block)) + rounded_up(bytes, kAlignment);
  const size_t total = guarded_bytes(bytes);
  char* const mapping = last + page_bytes() - total;
  return {mapping, total, mapping + page_bytes(), last};
}

// Freed blocks, inaccessible and without memory. Each stays here until as many blocks as the array holds have
// been freed after it. Each uses address space, which is plentiful, and one of the 65,530 mappings that Linux
// allows a process by default.
class Quarantine {
 public:
  static Quarantine& instance() { return *instance_; }

  void add(void* mapping, size_t bytes) {
    const std::lock_guard lock(mutex_);
    Entry& oldest = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    if (oldest.mapping != nullptr) munmap(oldest.mapping, oldest.bytes);
    oldest = {mapping, bytes};
  }

 private:
  struct Entry {
    void* mapping;
    size_t bytes;
  };

  ForkSafeMutex mutex_{LockRank::heap};
  std::array<Entry, 4096> entries_ = {};
  size_t next_ = 0;
  static Quarantine* const instance_;
};

Quarantine* const Quarantine::instance_ = new Quarantine;

}  // namespace

void* guard_allocate(size_t bytes) noexcept {
  const size_t total = guarded_bytes(bytes);
  if (total < bytes) return nullptr;
  // All of the block will be written, and a system that has overcommitted memory kills processes. Small
  // blocks skip this check, which reads several files.
  if (bytes > kLarge) {
    const std::optional<MemoryInfo> machine = memory_info();
    if (machine && bytes > machine->free_bytes) return nullptr;
  }
  void* const mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  char* const first = static_cast<char*>(mapping) + page_bytes();
  char* const last = static_cast<char*>(mapping) + total - page_bytes();
  // A new mapping instead of mprotect(): the library imports no function that could make memory executable
  // later.
  if (mmap(first, static_cast<size_t>(last - first), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(mapping, total);
    return nullptr;
  }
  char* const block = last - rounded_up(bytes, kAlignment);
  std::memset(first, kMargin, static_cast<size_t>(block - first));
  std::memset(block, kFilling, bytes);
  std::memset(block + bytes, kMargin, static_cast<size_t>(last - block) - bytes);
  return block;
}

void guard_free(void* address, size_t bytes) noexcept {
  const GuardedBlock guarded = guarded_block_of(address, bytes);
  const size_t accessible = static_cast<size_t>(guarded.last - guarded.first);
  // A new mapping releases the memory and the access rights. It merges with the pages on both sides, so the
  // kernel needs no memory for it.
  (void)mmap(guarded.first, accessible, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0);
  Quarantine::instance().add(guarded.mapping, guarded.mapping_bytes);
}

std::string guard_damage(const void* address, size_t bytes) {
  const GuardedBlock guarded = guarded_block_of(address, bytes);
  const char* const block = static_cast<const char*>(address);
  const auto is_written = [](char byte) { return static_cast<unsigned char>(byte) != kMargin; };
  const char* const behind = std::find_if(block + bytes, static_cast<const char*>(guarded.last), is_written);
  if (behind != guarded.last) {
    return text("the program had written past its end: byte ", behind - block,
                " was written to, but the block has ", bytes, " bytes");
  }
  // Reports the nearest byte, which a loop running backwards writes first.
  for (const char* at = block; at-- != guarded.first;) {
    if (is_written(*at)) {
      return text("the program had written before its start: byte ", at - block,
                  " was written to, but the block has bytes 0 to ", bytes - 1);
    }
  }
  return {};
}

}  // namespace openaclnn::cpu
