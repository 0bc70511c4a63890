// Elementwise loops on the device for any strides. Each thread processes a pack of neighbours if all operands
// allow it.
#pragma once

#include <cstdint>

#include "base/loop_nest.h"
#include "cuda/float_types.cuh"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// Computes number = quotient * divisor + rest. 64-bit divisions take ten times as long as 32-bit ones.
__device__ __forceinline__ int64_t divide(int64_t number, int64_t divisor, int64_t& rest) {
  if (((number | divisor) >> 32) == 0) {
    const uint32_t quotient = static_cast<uint32_t>(number) / static_cast<uint32_t>(divisor);
    rest = number - static_cast<int64_t>(quotient) * divisor;
    return quotient;
  }
  const int64_t quotient = number / divisor;
  rest = number - quotient * divisor;
  return quotient;
}

// Returns the element offsets of all operands at an element in the nest's order.
template <int kOperands>
__device__ __forceinline__ void find_offsets(const LoopNest<kOperands>& nest, int64_t element,
                                             int64_t (&offsets)[kOperands]) {
#pragma unroll
  for (int operand = 0; operand < kOperands; ++operand) offsets[operand] = 0;
  for (int k = nest.rank - 1; k >= 0; --k) {
    int64_t index = element;
    if (k > 0) element = divide(element, nest.dims[k], index);
#pragma unroll
    for (int operand = 0; operand < kOperands; ++operand)
      offsets[operand] += index * nest.strides[k][operand];
  }
}

// Host function: returns whether every run of the nest consists of packs of `count` elements at multiples of
// their size. The operand's elements have `bytes` bytes. A nest of one run may end with an incomplete pack.
template <int kOperands>
bool can_pack(const LoopNest<kOperands>& nest, int operand, const void* base, int64_t bytes, int64_t count) {
  bool can = nest.inner_is_contiguous() && (nest.rank <= 1 || nest.inner() % count == 0) &&
             reinterpret_cast<uintptr_t>(base) % static_cast<uintptr_t>(bytes * count) == 0;
  for (int k = 0; k + 1 < nest.rank; ++k) can = can && nest.strides[k][operand] % count == 0;
  return can;
}

template <int kOperands>
int64_t count_elements(const LoopNest<kOperands>& nest) {
  int64_t elements = 1;
  for (int k = 0; k < nest.rank; ++k) elements *= nest.dims[k];
  return elements;
}

// Sets every element that the nest visits to +0.
template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_with_zeros(const __grid_constant__ LoopNest<1> nest, int64_t elements, T* base) {
  for (int64_t i = thread_number(); i < elements; i += thread_count()) {
    int64_t offset[1];
    find_offsets(nest, i, offset);
    base[offset[0]] = T();
  }
}

template <class T>
cudaError_t write_zeros(const LoopNest<1>& nest, T* base, cudaStream_t stream) {
  const int64_t elements = count_elements(nest);
  return launch_kernel(fill_with_zeros<T>, grid_of(blocks_for(elements)), kThreads, 0, stream, nest, elements,
                       base);
}

// The same for contiguous elements.
template <class T>
cudaError_t write_zeros(T* base, int64_t elements, cudaStream_t stream) {
  LoopNest<1> nest = {};
  nest.rank = 1;
  nest.dims[0] = elements;
  nest.strides[0].fill(1);
  return write_zeros(nest, base, stream);
}

}  // namespace openaclnn::cuda
