// Helpers for tests of pieces of kernels: nvcc compiles them for a real GPU and for the machine that runs
// its PTX, the C++ compiler for the emulation.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

#if defined(OPENACLNN_ON_PTX_MACHINE)
inline constexpr bool kOnGpu = false, kOnPtxMachine = true;
#elif defined(__CUDACC__)
inline constexpr bool kOnGpu = true, kOnPtxMachine = false;
#else
inline constexpr bool kOnGpu = false, kOnPtxMachine = false;
#endif

// Memory of zeros that kernels and the test can access.
template <class T>
class TestArray {
 public:
#if defined(__CUDACC__)
  explicit TestArray(size_t count) {
    void* data = nullptr;
    EXPECT_EQ(cudaMallocManaged(&data, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data, 0, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    data_ = static_cast<T*>(data);
  }
  ~TestArray() { (void)cudaFree(data_); }
#else
  explicit TestArray(size_t count) : data_(new (std::align_val_t(256)) T[count]()) {}
  ~TestArray() { ::operator delete[](data_, std::align_val_t(256)); }
#endif
  TestArray(const TestArray&) = delete;
  TestArray& operator=(const TestArray&) = delete;

  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  T* data_;
};

// Waits for the end of all launched kernels.
inline void finish(cudaError_t launched) {
  ASSERT_EQ(launched, cudaSuccess);
#if defined(__CUDACC__)
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
#endif
}

}  // namespace openaclnn::cuda
