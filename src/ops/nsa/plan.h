// The part of a plan that kernels of token compression and of its gradient share, on all devices: sizes, and
// sequences as they are processed.
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

// The sizes of a call, included in both plans.
struct CompressionSizes {
  int64_t tokens;      // T
  int64_t heads;       // N
  int64_t columns;     // D
  int64_t block_size;  // L
  int64_t stride;      // d
  int64_t windows;     // J
  int64_t sequences;   // sequences that have windows; they follow the plan in memory
};

}  // namespace openaclnn
