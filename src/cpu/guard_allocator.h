// The allocator of OPENACLNN_ALLOCATOR=guard, which finds memory errors of programs. Blocks are placed
// between guard pages, filled with NaN, and not reused soon.
#pragma once

#include <cstddef>
#include <string>

namespace openaclnn::cpu {

// Allocates exactly `bytes`, aligned to 64, each byte 0xFF: NaN as a number, -1 as an integer. The block ends
// at a guard page, as closely as the alignment allows. Returns nullptr if memory is exhausted.
void* guard_allocate(size_t bytes) noexcept;

// Makes the block inaccessible. Its addresses stay unused until many more blocks are freed. Never fails,
// never waits.
void guard_free(void* address, size_t bytes) noexcept;

// Describes which byte just outside the block was overwritten; empty if none was. Guard pages protect bytes
// farther away.
std::string guard_damage(const void* address, size_t bytes);

}  // namespace openaclnn::cpu
