// Uploads small tables from the host to device memory as kernel parameters. Unlike a copy, this neither waits
// nor refers to host memory that no longer exists when a captured graph runs.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/kernel.cuh"
#include "cuda/upload_piece.h"

namespace openaclnn::cuda {

template <int kWords>
__global__ void __launch_bounds__(kThreads)
    store_piece(const __grid_constant__ UploadPiece<kWords> piece, uint64_t* to, int words) {
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kThreads) to[i] = piece.words[i];
}

// Appends items one by one to the queue's piece. A full piece is enqueued on the stream at once.
class Upload {
 public:
  Upload(void* to, const LaunchIo& io)
      : to_(static_cast<uint64_t*>(to)), stream_(io.stream), piece_(*io.piece) {}

  template <class Item>
  void append(const Item& item) {
    static_assert(sizeof(Item) % sizeof(uint64_t) == 0 && alignof(Item) == alignof(uint64_t));
    constexpr int kWords = sizeof(Item) / sizeof(uint64_t);
    static_assert(kWords <= kMostWords);
    if (used_ + kWords > kMostWords) flush();
    std::memcpy(piece_.words + used_, &item, sizeof item);
    used_ += kWords;
  }

  cudaError_t finish() {
    if (used_ > 0) flush();
    return error_;
  }

 private:
  static constexpr int kMostWords = sizeof(LargestUploadPiece) / sizeof(uint64_t);
  static constexpr int kFewWords = 128;

  void flush() {
    if (error_ == cudaSuccess) error_ = used_ <= kFewWords ? send<kFewWords>() : send<kMostWords>();
    to_ += used_;
    used_ = 0;
  }
  template <int kWords>
  cudaError_t send() {
    return launch_kernel(store_piece<kWords>, grid_of(1), kThreads, 0, stream_,
                         reinterpret_cast<const UploadPiece<kWords>&>(piece_), to_, used_);
  }

  uint64_t* to_;
  cudaStream_t stream_;
  int used_ = 0;
  cudaError_t error_ = cudaSuccess;
  LargestUploadPiece& piece_;
};

}  // namespace openaclnn::cuda
