// The workspace size of a GPU sort. Plans need it before a GPU is used; kernels need it to divide the
// workspace.
#pragma once

#include <cstdint>

namespace openaclnn {

// Up to this many keys are sorted by counting: every key is compared with every other.
inline constexpr int64_t kMostSortedByCounting = 8192;

// Temporary memory of CUB's radix sort of pairs that may overwrite its input. It has 1 KiB of counters for
// each block of keys; the smallest block has more than 2048 keys. It also has digit counters of eight passes
// for each part of almost 2^28 keys.
inline constexpr int64_t sort_scratch_bytes(int64_t keys) {
  if (keys <= kMostSortedByCounting) return 0;
  constexpr int64_t kPart = int64_t{1} << 27;
  return keys / 2 + (keys / kPart + 2) * (int64_t{32} << 10);
}

}  // namespace openaclnn
