// Memory of the CPU device. Freed memory is kept for reuse, because first touching new pages costs more than
// most kernels.
//
//   up to 8 KiB       slabs: 64 KiB of an arena in blocks of one size      slabs.h
//   8 KiB to 2 MiB    whole pages of an arena of 16 MiB                    arenas.h
//   2 MiB and more    a mapping of its own, with huge pages                mappings.h
//
// A block of n bytes uses at most 1.125 n bytes plus one page. Freed memory is kept up to an eighth of the
// memory of the machine (or of the cgroup). The rest returns to the system; pool_return_all() returns all
// free pages. Partly used slabs also hold free memory: 64 KiB each, and one unused slab for each of the 40
// sizes.
#pragma once

#include <cstddef>
#include <optional>

#include "cpu/pages.h"
#include "runtime/device.h"

namespace openaclnn::cpu {

// Allocates at least `bytes`, aligned to 64; returns nullptr if memory is exhausted.
void* pool_allocate(size_t bytes) noexcept;

// Frees a block that pool_allocate(bytes) returned. Never fails, never waits, and makes no system call.
void pool_free(void* address, size_t bytes) noexcept;

// Returns true if the pool keeps more than its limit. Then call pool_return_excess() on a thread that nothing
// waits for; otherwise the next block that needs a mapping waits for it.
bool pool_has_excess() noexcept;
void pool_return_excess(const BetweenSteps& between) noexcept;

// Returns all free pages to the system.
void pool_return_all() noexcept;

// For tests: sets the limit of kept memory, until a larger block is mapped.
void pool_keep_at_most(size_t bytes) noexcept;

// Returns machine_memory() with kept memory counted as free; nullopt if it is unknown.
std::optional<MemoryInfo> memory_info() noexcept;

}  // namespace openaclnn::cpu
