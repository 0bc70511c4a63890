// A stable sort of positions by key on the device. Few are sorted by counting, which is one launch; many by CUB's radix sort.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <numeric>
#include <vector>
#endif

#include "base/sort_size.h"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// Keys and their positions, and room for the same again. Word is uint32_t or uint64_t.
template <class Word>
struct SortBuffers {
  Word* keys[2];
  Word* positions[2];
};

inline constexpr int kLanesOfKey = 8;

// Eight lanes count the keys that come before one key: those that are smaller, and equal ones at lower positions.
template <class Word>
__global__ void __launch_bounds__(kThreads) sort_by_counting(SortBuffers<Word> buffers, int64_t count) {
  const int64_t own = thread_number() / kLanesOfKey;
  const Word key = own < count ? buffers.keys[0][own] : Word(0);
  int64_t before = 0;
  for (int64_t k = thread_number() % kLanesOfKey; own < count && k < count; k += kLanesOfKey) {
    const Word other = buffers.keys[0][k];
    before += other < key || (other == key && k < own) ? 1 : 0;
  }
  for (int distance = kLanesOfKey / 2; distance > 0; distance /= 2)
    before += __shfl_xor_sync(kAllLanes, before, distance);
  if (own >= count || thread_number() % kLanesOfKey != 0) return;
  buffers.keys[1][before] = key;
  buffers.positions[1][before] = buffers.positions[0][own];
}

#if !defined(__CUDACC__)
// What CUB does, for the emulation: CUB itself is made for the GPU's own compiler.
template <class Word>
void sort_on_host(SortBuffers<Word> buffers, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return buffers.keys[0][i]; });
  for (int64_t i = 0; i < count; ++i) {
    buffers.keys[1][i] = buffers.keys[0][order[static_cast<size_t>(i)]];
    buffers.positions[1][i] = buffers.positions[0][order[static_cast<size_t>(i)]];
  }
}
#endif

// Sorts by the lowest `key_bits` bits. `scratch` has sort_scratch_bytes(count) bytes. `sorted` receives which of the buffers holds the
// result; it is known at once, and does not depend on the keys.
template <class Word>
cudaError_t sort_positions(const SortBuffers<Word>& buffers, int64_t count, int key_bits, void* scratch,
                           cudaStream_t stream, int& sorted) {
  sorted = 1;
  if (count <= kMostSortedByCounting) {
    const int64_t blocks = ceil_div(count * kLanesOfKey, kThreads);
    return launch_kernel(sort_by_counting<Word>, grid_of(blocks), kThreads, 0, stream, buffers, count);
  }
  // CUB asks for the thread's last error after its launches, and would take one that the program left behind for its own.
  (void)cudaGetLastError();
#if defined(__CUDACC__)
  cub::DoubleBuffer<Word> keys(buffers.keys[0], buffers.keys[1]);
  cub::DoubleBuffer<Word> positions(buffers.positions[0], buffers.positions[1]);
  const auto sort = [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, positions, static_cast<Word>(count), 0,
                                           key_bits, stream);
  };
  size_t needed = 0;
  OPENACLNN_CUDA_TRY(sort(nullptr, needed));
  if (needed > static_cast<size_t>(sort_scratch_bytes(count))) return cudaErrorMemoryAllocation;
  OPENACLNN_CUDA_TRY(sort(scratch, needed));
  sorted = keys.selector;
  return cudaSuccess;
#else
  (void)key_bits;
  (void)scratch;
  OPENACLNN_CUDA_TRY(launch_kernel(sort_on_host<Word>, grid_of(1), 1, 0, stream, buffers, count));
  return cudaPeekAtLastError();  // as CUB's launches end
#endif
}

}  // namespace openaclnn::cuda
