// The library's one order of additions for long sums (cpu/rows.h): blocks of terms, and superblocks of these
// blocks.
#pragma once

#include <cstdint>

namespace openaclnn {

inline constexpr int64_t kBlockTerms = 64;  // added in fp32, from left to right
inline constexpr int64_t kSuperblockTerms =
    512;  // 8 blocks, whose sums are added in fp32; superblock sums are added in fp64

// A GPU counts the superblocks that are complete for each group of several and each strip of columns. A strip
// has at least this many columns, unless a row has fewer.
inline constexpr int64_t kLeastStripColumns = 32;

}  // namespace openaclnn
