// A stable sort of positions by key on the device. Few keys are sorted by counting in one launch, many by
// CUB's radix sort.
#pragma once

#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>

#include <cstdint>

#include "base/sort_size.h"
#include "cuda/kernel.cuh"

// sort_scratch_bytes() was verified against CUB 3.0. The plugin also compiles with other versions. If they
// need more memory, phase 2 fails with its own error message.
#if CUB_VERSION < 300000 || CUB_VERSION >= 300100
#pragma message( \
    "sort_scratch_bytes() was not compared with this version of CUB, only with 3.0: run sort_test")
#endif

namespace openaclnn::cuda {

// Keys and their positions, with temporary space of the same size, each at a multiple of 16 bytes. Word is
// uint32_t or uint64_t.
template <class Word>
struct SortBuffers {
  Word* keys[2];
  Word* positions[2];
};

inline constexpr int kLanesOfKey = 8;

template <class Word>
inline constexpr uint32_t kKeysOfPack = 16 / sizeof(Word);

// Returns the number of keys in packs [begin, end) for which `counts` is true. A lane reads every eighth
// pack.
template <class Word, class Counts>
__device__ __forceinline__ uint32_t count_keys(const Word* keys, uint32_t begin, uint32_t end, uint32_t lane,
                                               const Counts& counts) {
  struct alignas(16) Keys {
    Word key[kKeysOfPack<Word>];
  };
  uint32_t count = 0;
  for (uint32_t pack = begin + lane; pack < end; pack += kLanesOfKey) {
    const Keys read = reinterpret_cast<const Keys*>(keys)[pack];
#pragma unroll
    for (uint32_t i = 0; i < kKeysOfPack<Word>; ++i) count += counts(read.key[i]) ? 1 : 0;
  }
  return count;
}

// Eight lanes count the keys that precede one key: smaller keys, and equal keys at lower positions.
template <class Word>
__global__ void __launch_bounds__(kThreads) sort_by_counting(SortBuffers<Word> buffers, uint32_t count) {
  const Word* const keys = buffers.keys[0];
  const uint32_t own = static_cast<uint32_t>(thread_number()) / kLanesOfKey;
  const uint32_t lane = threadIdx.x % kLanesOfKey;
  const Word key = own < count ? keys[own] : Word(0);
  uint32_t before = 0;
  if (own < count) {
    const uint32_t own_pack = own / kKeysOfPack<Word>;
    const uint32_t packs = count / kKeysOfPack<Word>;
    before = count_keys(keys, 0, own_pack, lane, [&](Word other) { return other <= key; }) +
             count_keys(keys, own_pack, packs, lane, [&](Word other) { return other < key; });
    // The remaining keys, one per lane: equal keys of the own pack, and those after the last whole pack.
    const uint32_t near = own_pack * kKeysOfPack<Word> + lane;
    const uint32_t last = packs * kKeysOfPack<Word> + lane;
    if (near < own && keys[near] == key) ++before;
    if (last < count && keys[last] < key) ++before;
  }
  for (int distance = kLanesOfKey / 2; distance > 0; distance /= 2)
    before += __shfl_xor_sync(kAllLanes, before, distance);
  if (own >= count || lane != 0) return;
  buffers.keys[1][before] = key;
  buffers.positions[1][before] = buffers.positions[0][own];
}

// Sorts by the lowest `key_bits` bits. `scratch` has sort_scratch_bytes(count) bytes. `sorted` receives the
// index of the buffer with the result, which is known at once and does not depend on the keys.
template <class Word>
cudaError_t sort_positions(const SortBuffers<Word>& buffers, int64_t count, int key_bits, void* scratch,
                           cudaStream_t stream, int& sorted) {
  sorted = 1;
  if (count <= kMostSortedByCounting) {
    const int64_t blocks = ceil_div(count * kLanesOfKey, kThreads);
    return launch_kernel(sort_by_counting<Word>, grid_of(blocks), kThreads, 0, stream, buffers,
                         static_cast<uint32_t>(count));
  }
  // CUB reads the thread's last error after its launches, and would mistake an earlier error of the program
  // for its own.
  (void)cudaGetLastError();
  cub::DoubleBuffer<Word> keys(buffers.keys[0], buffers.keys[1]);
  cub::DoubleBuffer<Word> positions(buffers.positions[0], buffers.positions[1]);
  const auto sort = [&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, positions, static_cast<Word>(count), 0,
                                           key_bits, stream);
  };
  size_t needed = 0;
  OPENACLNN_CUDA_TRY(sort(nullptr, needed));
  if (needed > static_cast<size_t>(sort_scratch_bytes(count))) return kSortScratchTooSmall;
  OPENACLNN_CUDA_TRY(sort(scratch, needed));
  sorted = keys.selector;
  return cudaSuccess;
}

}  // namespace openaclnn::cuda
