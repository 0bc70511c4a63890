// The formula of ApplyAdamW on a tile of elements, for the instruction sets of cmake/kernels.cmake.
#pragma once

#include "ops/apply_adam_w/verify/golden_formula.h"

namespace openaclnn_verify {

// The numbers that all tiles of one tensor share.
struct AdamWTileSettings {
  AdamWAttributes attributes;
  AdamWConstants<DoubleDouble> constants;
  bool is_usual;            // the error bounds hold for such attributes
  double c[kAdamWOutputs];  // of the error bounds
};

struct AdamWTileIo {
  AdamWBefore<ElementTile> before;
  TileResult results[kAdamWOutputs];
};

// Computes exact results and bounds of a whole tile. Returns whether all results are finite.
using AdamWTileKernel = bool(const AdamWTileSettings& settings, AdamWTileIo& io);
namespace isa_baseline {
AdamWTileKernel compute_adam_w_tile;
}
namespace isa_avx2 {
AdamWTileKernel compute_adam_w_tile;
}
namespace isa_avx512 {
AdamWTileKernel compute_adam_w_tile;
}

}  // namespace openaclnn_verify
