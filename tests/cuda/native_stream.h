// The fixture of tests with a stream that the program created with CUDA.
#pragma once

#include "cuda/cuda_api.h"
#include "openaclnn/openaclnn.h"
#include "runtime/lookup.h"

namespace cuda_test {

class NativeStreamTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&native, cudaStreamNonBlocking), cudaSuccess);
    runtime_test::expect(0, openaclnnCreateStreamFromNative(native, &wrapped));
  }
  void TearDown() override {
    if (wrapped != nullptr) runtime_test::expect(0, aclrtDestroyStream(wrapped));
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(native), cudaSuccess);
    CudaTest::TearDown();
  }

  cudaStream_t native = nullptr;
  aclrtStream wrapped = nullptr;
};

}  // namespace cuda_test
