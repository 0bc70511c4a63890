// Distances of prefetches for rows that don't follow each other in memory, which are prefetched twice: far
// ahead into L2, and from there into L1 shortly before they are read.
//
// The problem: a core waits for memory with the few buffers that fill L1, and the hardware's prefetcher stops
// at the end of a row. The trick: prefetches into L2 wait in the larger number of L2's buffers. A gather of
// rows of 2 KB with one thread of a Zen 4 reads and writes 22 GB/s with prefetches into L1 only, 32 with
// prefetches into L2 only, and 36 with both.
#pragma once

#include <algorithm>
#include <cstdint>

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Distances from the byte being read. 4 to 12 KiB and 16 to 64 KiB are about equally fast.
inline constexpr int64_t kNearBytes = int64_t{12} << 10;
inline constexpr int64_t kFarBytes = int64_t{32} << 10;

// Returns how many rows ahead of the row being read the row to prefetch is.
inline int64_t rows_before(int64_t distance_bytes, int64_t row_bytes) {
  return std::max<int64_t>(distance_bytes / row_bytes, 1);
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
