// The library's one order of additions for long sums (cpu/rows.h): blocks of terms, and superblocks of these
// blocks.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

inline constexpr int64_t kBlockTerms = 64;  // added in fp32, from left to right
// 8 blocks, whose sums are added in fp32; superblock sums are added in fp64.
inline constexpr int64_t kSuperblockTerms = 512;

// Superblocks of long sums are summed independently, and their sums kept in slots of a workspace until they are
// added. The terms of all sums are numbered together. Returns the slot of the superblock of terms [begin, end) of
// a sum of more than one superblock. Full superblocks use even slots. Incomplete ones, at most one per sum, use
// odd slots. Slots are unique: full superblocks start at least kSuperblockTerms terms apart, and so do incomplete
// ones at the end of long sums.
OPENACLNN_INLINE int64_t superblock_slot(int64_t begin, int64_t end) {
  return 2 * (begin / kSuperblockTerms) + (end - begin < kSuperblockTerms ? 1 : 0);
}

// Returns the number of slots that so many terms need.
constexpr int64_t superblock_slots(int64_t terms) {
  return terms > kSuperblockTerms ? 2 * (terms / kSuperblockTerms + 1) : 0;
}

// A GPU counts the superblocks that are complete for each group of several and each strip of columns. A strip
// has at least this many columns, unless a row has fewer.
inline constexpr int64_t kLeastStripColumns = 32;

}  // namespace openaclnn
