// Finds the batches of equal length that a call of token compression without lengths describes.
#pragma once

#include <cstdint>

#include "base/window_count.h"

namespace openaclnn {

// The most batches that a call may leave unsaid, unless they have no windows. It bounds the search, since shapes with an extent or a stride of 0 may have 2^62
// tokens, and the memory that one number of a shape makes phase 1 fill with descriptions of sequences.
constexpr int64_t kMostEqualBatches = int64_t{1} << 20;

// Numbers of batches; 0: there is none.
struct EqualBatches {
  int64_t smallest = 0;
  int64_t next = 0;  // the second smallest
};

enum class SearchFor { smallest, two_smallest };

// The smallest numbers B, from 1 to kMostEqualBatches where there are windows, that divide `tokens` into sequences with `windows` windows together:
// B * count_windows(tokens / B) = windows. Requires tokens >= 0 and windows >= 0. Takes a few milliseconds at most, and nothing where
// B = 1 is the answer.
EqualBatches find_equal_batches(int64_t tokens, int64_t windows, const WindowShape& shape, SearchFor wanted);

}  // namespace openaclnn
