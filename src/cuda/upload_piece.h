// Memory of the host where a table is put together, piece by piece, for kernels that take it as a parameter. It
// is not on the stack, because application threads may have stacks of 64 KiB.
#pragma once

#include <cstdint>

namespace openaclnn::cuda {

template <int kWords>
struct UploadPiece {
  uint64_t words[kWords];
};

// Nearly all that the parameters of a kernel may have. Every queue has one for the launch in progress: CUDA copies
// parameters before a launch returns.
using LargestUploadPiece = UploadPiece<4000>;

}  // namespace openaclnn::cuda
