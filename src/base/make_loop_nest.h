// Makes a LoopNest of several views of one shape.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

#include "base/loop_nest.h"
#include "base/tensor_view.h"

namespace openaclnn {

// Merges neighbouring loops if every operand allows it: (i, j) becomes one loop if stride(i) = dim(j) *
// stride(j).
template <int kOperands>
void merge_loops(LoopNest<kOperands>& nest) {
  int merged = 0;
  for (int k = 0; k < nest.rank; ++k) {
    if (nest.dims[k] == 1) continue;
    bool joins = merged > 0;
    for (int operand = 0; joins && operand < kOperands; ++operand) {
      int64_t step = 0;
      const bool overflow = __builtin_mul_overflow(nest.dims[k], nest.strides[k][operand], &step);
      joins = !overflow && nest.strides[merged - 1][operand] == step;
    }
    if (joins) {
      nest.dims[merged - 1] *= nest.dims[k];
    } else {
      nest.dims[merged++] = nest.dims[k];
    }
    nest.strides[merged - 1] = nest.strides[k];
  }
  nest.rank = merged;
}

// Returns the nest that visits the elements in row-major order of the views, which all have the same
// non-empty shape.
template <int kOperands>
LoopNest<kOperands> row_major_nest(const std::array<const TensorView*, kOperands>& views, int first_dim,
                                   int last_dim) {
  LoopNest<kOperands> nest;
  nest.rank = last_dim - first_dim;
  for (int k = 0; k < nest.rank; ++k) {
    nest.dims[k] = views[0]->dims[first_dim + k];
    for (int operand = 0; operand < kOperands; ++operand) {
      nest.strides[k][operand] = views[operand]->strides[first_dim + k];
    }
  }
  merge_loops(nest);
  return nest;
}

// For elementwise operators, which may visit elements in any order: sorts the loops so that `leader` is
// walked in memory order.
template <int kOperands>
LoopNest<kOperands> memory_order_nest(const std::array<const TensorView*, kOperands>& views, int leader) {
  LoopNest<kOperands> nest;
  for (int k = 0; k < views[0]->rank; ++k) {
    if (views[0]->dims[k] == 1) continue;
    const int64_t stride = std::abs(views[leader]->strides[k]);
    int at = nest.rank++;
    for (; at > 0 && std::abs(nest.strides[at - 1][leader]) < stride; --at) {
      nest.dims[at] = nest.dims[at - 1];
      nest.strides[at] = nest.strides[at - 1];
    }
    nest.dims[at] = views[0]->dims[k];
    for (int operand = 0; operand < kOperands; ++operand)
      nest.strides[at][operand] = views[operand]->strides[k];
  }
  merge_loops(nest);
  return nest;
}

}  // namespace openaclnn
