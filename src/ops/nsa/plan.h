// What the kernels of token compression and of its gradient read of a call, on every device: its sizes, and the sequences as they
// are walked.
#pragma once

#include <cstdint>

#include "ops/plan_items.h"

namespace openaclnn {

// A sequence that has windows. Window k of it starts at token first_token + k * stride.
struct Sequence {
  int64_t first_token;
  int64_t first_window;
  int64_t windows;
};

// The sizes of a call, as part of both plans.
struct CompressionSizes {
  int64_t tokens;      // T
  int64_t heads;       // N
  int64_t columns;     // D
  int64_t block_size;  // L
  int64_t stride;      // d
  int64_t windows;     // J
  int64_t sequences;   // that have windows; they follow the plan in memory
};

}  // namespace openaclnn
