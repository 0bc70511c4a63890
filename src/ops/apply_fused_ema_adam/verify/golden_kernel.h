// The formula of ApplyFusedEmaAdam on a tile of elements, for the instruction sets of cmake/kernels.cmake.
#pragma once

#include "ops/apply_fused_ema_adam/verify/golden_formula.h"

namespace openaclnn_verify {

// The numbers that all tiles of one tensor share.
struct EmaTileSettings {
  EmaGiven given;
  EmaConstants<DoubleDouble> constants;
  bool joins_gradient;  // mode 0
  bool divides;         // the gradient by `divisor`, whose quotient must be in the range of normal floats
  bool is_usual;        // the error bounds hold for such attributes
  double divisor;
  // c of the error bounds: at_zero + per_kappa * kappa.
  double at_zero[kEmaOutputs], per_kappa[kEmaOutputs];
};

enum EmaTilePart { kTileGrad, kTileVar, kTileM, kTileV, kTileS, kEmaTileParts };
struct EmaTileIo {
  ElementTile before[kEmaTileParts];
  TileResult results[kEmaOutputs];
};

// Computes exact results and bounds of a whole tile. Returns whether all results are finite.
using EmaTileKernel = bool(const EmaTileSettings& settings, EmaTileIo& io);
namespace isa_baseline {
EmaTileKernel compute_ema_tile;
}
namespace isa_avx2 {
EmaTileKernel compute_ema_tile;
}
namespace isa_avx512 {
EmaTileKernel compute_ema_tile;
}

}  // namespace openaclnn_verify
