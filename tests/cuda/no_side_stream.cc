// For programs that run kernels without streams: there are no side streams, so nothing calls these functions.
#include "cuda/side_stream.h"

namespace openaclnn::cuda {

cudaError_t fork_side_stream(SideStream&, cudaStream_t) { return cudaSuccess; }
cudaError_t join_side_stream(const SideStream&, cudaStream_t) { return cudaSuccess; }

}  // namespace openaclnn::cuda
