// Finds the batches of equal length that a token compression call without lengths implies.
#pragma once

#include <cstdint>

#include "base/window_count.h"

namespace openaclnn {

// The largest number of batches that a call can imply, unless they have no windows. It bounds two costs. The
// search: shapes with an extent or a stride of 0 may have 2^62 tokens. The memory: phase 1 stores a
// description of each sequence.
constexpr int64_t kMostEqualBatches = int64_t{1} << 20;

// Numbers of batches; 0 means none.
struct EqualBatches {
  int64_t smallest = 0;
  int64_t next = 0;  // the second smallest
};

enum class SearchFor { smallest, two_smallest };

// Finds the smallest numbers B that divide `tokens` into sequences with `windows` windows together: B *
// count_windows(tokens / B) = windows. B is at most kMostEqualBatches if there are windows. Requires tokens
// >= 0 and windows >= 0. Takes a few milliseconds at most, and no time if B = 1 is the answer.
EqualBatches find_equal_batches(int64_t tokens, int64_t windows, const WindowShape& shape, SearchFor wanted);

}  // namespace openaclnn
