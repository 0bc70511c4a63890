// Memory of the CPU device. Freed memory is kept for reuse, because the first touch of fresh pages costs more than most kernels.
//
//   up to 8 KiB       slabs: 64 KiB of an arena in blocks of one size      slabs.h
//   8 KiB to 2 MiB    whole pages of an arena of 16 MiB                    arenas.h
//   2 MiB and more    a mapping of its own, with huge pages                mappings.h
//
// A block of n bytes takes up at most 1.125 n bytes and a page. Of what is freed at most an eighth of the memory of the machine (or of
// the cgroup) is kept; the rest goes back to the system, as do all free pages with pool_return_all(). Beyond that only partly used slabs
// hold free memory: 64 KiB each, and one unused slab for each of the 40 sizes.
#pragma once

#include <cstddef>
#include <optional>

#include "cpu/pages.h"
#include "runtime/device.h"

namespace openaclnn::cpu {

// At least `bytes`, aligned to 64; nullptr when there is none.
void* pool_allocate(size_t bytes) noexcept;

// Takes back what pool_allocate(bytes) returned. Never fails, never waits, and asks nothing of the system.
void pool_free(void* address, size_t bytes) noexcept;

// True when more is kept than should be. Call pool_return_excess() then, on a thread that nobody waits for; otherwise the next block
// that needs a mapping waits for it.
bool pool_has_excess() noexcept;
void pool_return_excess(const BetweenSteps& between) noexcept;

// Returns all free pages to the system.
void pool_return_all() noexcept;

// For tests: the limit of what is kept, until a block of more than that is mapped.
void pool_keep_at_most(size_t bytes) noexcept;

// What machine_memory() says, with kept memory as free; nullopt where that is unknown.
std::optional<MemoryInfo> memory_info() noexcept;

}  // namespace openaclnn::cpu
