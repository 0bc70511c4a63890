// Memory of the CPU device: big blocks 2 MB-aligned with a huge-page hint, small ones carved from such blocks; freed memory
// is kept for reuse, because the first touch of fresh pages costs more than most kernels.
#pragma once

#include <cstddef>

#include "runtime/device.h"

namespace openaclnn::cpu {

// At least `bytes`, aligned to 64; nullptr when there is none.
void* pool_allocate(size_t bytes) noexcept;

// Takes back what pool_allocate(bytes) returned. Never fails, never waits.
void pool_free(void* address, size_t bytes) noexcept;

// Of the machine, or of the cgroup when that has less. Cached freed blocks count as free.
MemoryInfo memory_info() noexcept;

}  // namespace openaclnn::cpu
