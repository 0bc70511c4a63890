// A kernel that only reads.
#include "read.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kThreads = 256, kTogether = 8;

// Each thread reads kTogether words. No data have this sum. The compiler cannot know that, so it keeps the
// reads.
__global__ void __launch_bounds__(kThreads) read_words(const uint4* words, int64_t count, uint4* never) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kTogether + threadIdx.x;
  uint4 all = {};
#pragma unroll
  for (int k = 0; k < kTogether; ++k) {
    const int64_t at = first + k * kThreads < count ? first + k * kThreads : count - 1;
    const uint4 word = words[at];
    all = {all.x ^ word.x, all.y ^ word.y, all.z ^ word.z, all.w ^ word.w};
  }
  if (all.x == 0x243F6A88 && all.y == 0x85A308D3 && all.z == 0x13198A2E && all.w == 0x03707344) *never = all;
}

}  // namespace

void* create_native_stream() {
  cudaStream_t stream = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : nullptr;
}

int read_all(const void* data, size_t bytes, void* native_stream) {
  const auto count = static_cast<int64_t>(bytes / sizeof(uint4));
  const int64_t blocks = (count + kThreads * kTogether - 1) / (kThreads * kTogether);
  read_words<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(native_stream)>>>(
      static_cast<const uint4*>(data), count, nullptr);
  return cudaGetLastError();
}
