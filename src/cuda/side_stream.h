// Work that runs beside a task's stream, and that the stream then waits for.
#pragma once

#include "cuda/launch.h"

namespace openaclnn::cuda {

// Makes the side stream wait for the earlier work of `stream`. Creates it when it is first needed. If that
// fails, returns success and leaves side.stream at nullptr: the work then runs in the task's stream.
cudaError_t fork_side_stream(SideStream& side, cudaStream_t stream);

// Makes `stream` wait for the side stream.
cudaError_t join_side_stream(const SideStream& side, cudaStream_t stream);

// Enqueues `beside` on a stream of its own, if `worthwhile`, and `main` on the task's stream. Both begin after
// the earlier work of the task's stream. Its later work begins after both. The GPU prefers the blocks of
// `beside`, so its chain of small kernels is not held up by the many blocks of `main`.
template <class Beside, class Main>
cudaError_t run_beside(const LaunchIo& io, bool worthwhile, const Beside& beside, const Main& main) {
  SideStream* const side = worthwhile ? io.side : nullptr;
  cudaError_t error = side != nullptr ? fork_side_stream(*side, io.stream) : cudaSuccess;
  if (error != cudaSuccess) return error;
  const bool has_side = side != nullptr && side->stream != nullptr;
  error = beside(has_side ? static_cast<cudaStream_t>(side->stream) : io.stream);
  if (error == cudaSuccess) error = main();
  // Also after an error, because part of the work may run.
  const cudaError_t joined = has_side ? join_side_stream(*side, io.stream) : cudaSuccess;
  return error != cudaSuccess ? error : joined;
}

}  // namespace openaclnn::cuda
