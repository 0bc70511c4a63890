// Precedes CUDA's header of this name where the fake GPU (../../simt) is compiled for objects of nvcc: the
// real declarations, and the fake's functions for tests. Tests look these functions up in the library by
// name.
#pragma once

#pragma GCC visibility push(default)
#include_next <cuda_runtime.h>

extern "C" {
unsigned long openaclnn_fake_cuda(const char* failures);
size_t openaclnn_fake_cuda_pinned_bytes();
}
#pragma GCC visibility pop
