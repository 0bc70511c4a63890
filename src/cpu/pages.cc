// Manages pages of the operating system with mmap, madvise and munmap.
#include "cpu/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace openaclnn::cpu {

namespace {

// madvise() holds the mmap lock for reading, so page faults continue; munmap() first holds it for writing.
// Pages are therefore emptied in small steps first. Emptied pages only have page tables left, so unmapping
// uses larger steps.
constexpr size_t kEmptyStep = size_t{8} << 20;
constexpr size_t kUnmapStep = size_t{256} << 20;

}  // namespace

size_t page_bytes() noexcept {
  // Not a static variable with a run-time initialiser: a thread that vanished in fork() might have held its
  // guard.
  static constinit std::atomic<size_t> known{0};
  size_t bytes = known.load(std::memory_order_relaxed);
  if (bytes == 0) known.store(bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE)), std::memory_order_relaxed);
  return bytes;
}

char* map_pages(size_t bytes, bool huge) noexcept {
  const size_t padded = bytes + kHugePage;
  void* const raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(raw);
  char* const aligned =
      begin + (rounded_up(reinterpret_cast<uintptr_t>(raw), kHugePage) - reinterpret_cast<uintptr_t>(raw));
  const size_t before = static_cast<size_t>(aligned - begin);
  if (before > 0) munmap(begin, before);
  if (padded > before + bytes) munmap(aligned + bytes, padded - before - bytes);
  // Only a hint: everything also works without huge pages.
  (void)madvise(aligned, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  ASAN_POISON_MEMORY_REGION(aligned, bytes);
  return aligned;
}

void empty_pages(const Pages& pages, const BetweenSteps& between) noexcept {
  for (size_t done = 0; done < pages.bytes;) {
    const size_t step = std::min(kEmptyStep, pages.bytes - done);
    (void)madvise(pages.begin + done, step, MADV_DONTNEED);
    done += step;
    if (between.function != nullptr && done < pages.bytes) between.function(between.argument);
  }
}

void unmap_pages(const Pages& pages) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(pages.begin, pages.bytes);
  for (size_t left = pages.bytes; left > 0;) {
    const size_t step = std::min(kUnmapStep, left);
    left -= step;
    (void)munmap(pages.begin + left, step);
  }
}

}  // namespace openaclnn::cpu
