// The allocator for finding a program's own memory errors, OPENACLNN_ALLOCATOR=guard: blocks between pages without access rights,
// filled with NaN, and never handed out again soon.
#pragma once

#include <cstddef>
#include <string>

namespace openaclnn::cpu {

// Exactly `bytes`, aligned to 64, each 0xFF: NaN as a number, -1 as an integer. The block ends at a forbidden page, as closely as
// the alignment allows. nullptr when there is none.
void* guard_allocate(size_t bytes) noexcept;

// Takes the rights to the block away; its addresses stay unused until many more blocks are freed. Never fails, never waits.
void guard_free(void* address, size_t bytes) noexcept;

// Which byte just outside the block was written to, as a sentence; empty when none was. Farther ones are forbidden pages.
std::string guard_damage(const void* address, size_t bytes);

}  // namespace openaclnn::cpu
