// Runs kernels compiled by nvcc on the machine that executes their PTX, in the fake GPU's default stream.
#include <cuda_runtime.h>

#include "cuda/ptx/runtime.h"
#include "kernels.h"

namespace openaclnn_test {

// Tensors are in memory of the tests, between guard pages.
[[maybe_unused]] const bool host_memory = (openaclnn::ptx::let_kernels_touch_host_memory(), true);

void set_reversed_schedule(bool reversed) {
  using openaclnn::ptx::Schedule;
  openaclnn::ptx::set_schedule(reversed ? Schedule::reverse : Schedule::forward);
}

std::string finish_kernels() {
  const cudaError_t error = cudaStreamSynchronize(nullptr);
  return error == cudaSuccess ? "" : "the kernels ended with " + std::to_string(error);
}

const char* const kRaceReport = "with no barrier between|shared memory that nobody wrote";

}  // namespace openaclnn_test
