// Side streams by events of CUDA, which become branches when a graph is captured.
#include "cuda/side_stream.h"

namespace openaclnn::cuda {

namespace {

void destroy(SideStream& made) {
  if (made.stream != nullptr) (void)cudaStreamDestroy(static_cast<cudaStream_t>(made.stream));
  if (made.ready != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(made.ready));
  (void)cudaGetLastError();
}

// Leaves `side` as it was if anything fails.
void create(SideStream& side) {
  cudaStream_t stream = nullptr;
  cudaEvent_t ready = nullptr, done = nullptr;
  int lowest = 0, highest = 0;
  const bool all = cudaDeviceGetStreamPriorityRange(&lowest, &highest) == cudaSuccess &&
                   cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest) == cudaSuccess &&
                   cudaEventCreateWithFlags(&ready, cudaEventDisableTiming) == cudaSuccess &&
                   cudaEventCreateWithFlags(&done, cudaEventDisableTiming) == cudaSuccess;
  SideStream made = {stream, ready, done};
  all ? void(side = made) : destroy(made);
}

}  // namespace

cudaError_t fork_side_stream(SideStream& side, cudaStream_t stream) {
  if (side.stream == nullptr) create(side);
  if (side.stream == nullptr) return cudaSuccess;
  const cudaError_t error = cudaEventRecord(static_cast<cudaEvent_t>(side.ready), stream);
  if (error != cudaSuccess) return error;
  return cudaStreamWaitEvent(static_cast<cudaStream_t>(side.stream), static_cast<cudaEvent_t>(side.ready), 0);
}

cudaError_t join_side_stream(const SideStream& side, cudaStream_t stream) {
  cudaError_t error =
      cudaEventRecord(static_cast<cudaEvent_t>(side.done), static_cast<cudaStream_t>(side.stream));
  if (error == cudaSuccess) error = cudaStreamWaitEvent(stream, static_cast<cudaEvent_t>(side.done), 0);
  // Otherwise the memory of the task might be reused while the side stream still writes it.
  if (error != cudaSuccess && cudaStreamSynchronize(static_cast<cudaStream_t>(side.stream)) != cudaSuccess)
    (void)cudaGetLastError();
  return error;
}

}  // namespace openaclnn::cuda
