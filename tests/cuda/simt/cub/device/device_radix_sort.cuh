// Replaces CUB's header of this name, which needs the GPU's own compiler: the one sort that kernels call.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace cub {

// An array and equal additional space; `selector` says which of the two holds the sorted elements.
template <class T>
struct DoubleBuffer {
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() const { return d_buffers[selector]; }
  T* Alternate() const { return d_buffers[selector ^ 1]; }

  T* d_buffers[2];
  int selector = 0;
};

// The kernel of the sort, with one thread. It writes all of the temporary memory, as CUB may.
template <class Key, class Value>
void sort_pairs(const Key* keys, const Value* values, Key* sorted_keys, Value* sorted_values, int64_t count,
                int begin_bit, int end_bit, void* temporary, size_t bytes) {
  std::memset(temporary, 0xCD, bytes);
  const int bits = end_bit - begin_bit;
  const Key mask = bits < static_cast<int>(8 * sizeof(Key)) ? (Key(1) << bits) - 1 : ~Key(0);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return keys[i] >> begin_bit & mask; });
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = order[static_cast<size_t>(i)];
    sorted_keys[i] = keys[from];
    sorted_values[i] = values[from];
  }
}

struct DeviceRadixSort {
  // Without temporary memory it only returns the required bytes. Keys are unsigned integers here. Their
  // lowest bits from begin_bit to end_bit decide, and equal ones keep their order.
  template <class Key, class Value, class Count>
  static cudaError_t SortPairs(void* temporary, size_t& bytes, DoubleBuffer<Key>& keys,
                               DoubleBuffer<Value>& values, Count count, int begin_bit, int end_bit,
                               cudaStream_t stream) {
    const size_t needed = std::max<size_t>(static_cast<size_t>(count) / 2, 1);
    if (temporary == nullptr) {
      bytes = needed;
      return cudaSuccess;
    }
    if (bytes < needed) return cudaErrorInvalidValue;
    const Key* from = keys.Current();
    const Value* values_from = values.Current();
    Key* to = keys.Alternate();
    Value* values_to = values.Alternate();
    auto pairs = static_cast<int64_t>(count);
    void* parameters[] = {&from,      &values_from, &to,        &values_to, &pairs,
                          &begin_bit, &end_bit,     &temporary, &bytes};
    const cudaError_t error = cudaLaunchKernel(sort_pairs<Key, Value>, 1, 1, parameters, 0, stream);
    if (error != cudaSuccess) return error;
    keys.selector ^= 1;
    values.selector ^= 1;
    return cudaPeekAtLastError();  // as at the end of CUB's launches
  }
};

}  // namespace cub
