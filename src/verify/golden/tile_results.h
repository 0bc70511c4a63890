// Kernels of goldens compute whole tiles: into the outputs themselves, or into spare memory where fewer elements are left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "verify/golden.h"
#include "verify/golden/elements.h"

namespace openaclnn_verify {

template <size_t kResults>
class TileResults {
 public:
  // Sets the memory for `count` elements of each output from `begin` on. Results without an output get spare memory.
  void place(std::span<GoldenOutput> outputs, int64_t begin, int64_t count, TileResult (&results)[kResults]) {
    for (size_t k = 0; k < kResults; ++k) {
      results[k] = {spare_[k].exact.of, spare_[k].bound.of};
      if (k < outputs.size() && count == kTileElements)
        results[k] = {outputs[k].exact.data() + begin, outputs[k].bound.data() + begin};
    }
  }
  // Moves the elements of spare memory to the outputs.
  void finish(std::span<GoldenOutput> outputs, int64_t begin, int64_t count) const {
    if (count == kTileElements) return;
    for (size_t k = 0; k < outputs.size(); ++k) {
      std::copy_n(spare_[k].exact.of, count, outputs[k].exact.begin() + begin);
      std::copy_n(spare_[k].bound.of, count, outputs[k].bound.begin() + begin);
    }
  }

 private:
  struct Spare {
    ElementTile exact, bound;
  };
  std::array<Spare, kResults> spare_;
};

}  // namespace openaclnn_verify
