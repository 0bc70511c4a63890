// LoopNest: several views of one shape as few nested loops with long contiguous runs. base/make_loop_nest.h
// makes it.
#pragma once

#include <array>
#include <cstdint>

#include "base/max_rank.h"

namespace openaclnn {

// `rank` loops, outermost first. Operand k moves by strides[loop][k] elements per step. Plain data, because
// plans contain it.
template <int kOperands>
struct LoopNest {
  int rank = 0;
  std::array<int64_t, kMaxRank> dims = {};
  std::array<std::array<int64_t, kOperands>, kMaxRank> strides = {};

  int64_t inner() const { return rank > 0 ? dims[rank - 1] : 1; }  // elements of one innermost run
  bool inner_is_contiguous() const {
    if (rank == 0) return true;
    for (int64_t stride : strides[rank - 1]) {
      if (stride != 1) return false;
    }
    return true;
  }
};

}  // namespace openaclnn
