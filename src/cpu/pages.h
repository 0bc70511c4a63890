// Pages of the operating system, mapped, emptied and unmapped in steps, so that no step delays page faults
// and mappings of other threads for long.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace openaclnn::cpu {

inline constexpr size_t kHugePage = size_t{2} << 20;

// A range of whole pages. Empty if `bytes` is 0.
struct Pages {
  char* begin = nullptr;
  size_t bytes = 0;
};

// The system's page size: 4 KiB on x86-64; 4, 16 or 64 KiB on AArch64.
size_t page_bytes() noexcept;

inline size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Maps new zero pages aligned to 2 MiB. Huge pages are allowed only if `huge`. Returns nullptr if the system
// fails. The pages are poisoned for AddressSanitizer.
char* map_pages(size_t bytes, bool huge) noexcept;

// A function to call between two steps, on the same thread.
struct BetweenSteps {
  void (*function)(void* argument) = nullptr;
  void* argument = nullptr;
};

// Releases the memory of the pages and keeps the addresses, which then read as zero.
void empty_pages(const Pages& pages, const BetweenSteps& between) noexcept;

// Unmaps the pages. Fast for pages that were emptied.
void unmap_pages(const Pages& pages) noexcept;

}  // namespace openaclnn::cpu
