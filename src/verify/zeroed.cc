// Takes large blocks from the system, and others from the heap.
#include "verify/zeroed.h"

#include <sys/mman.h>

#include <cstdlib>

namespace openaclnn_verify {

namespace {
constexpr size_t kMapped = size_t{4} << 20;
}

void* allocate_zeros(size_t bytes) {
  if (bytes < kMapped) {
    void* const memory = std::calloc(bytes, 1);
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    return memory;
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: without it, the result is the same
  return memory;
}

void free_zeros(void* memory, size_t bytes) noexcept {
  if (bytes < kMapped) {
    std::free(memory);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace openaclnn_verify
