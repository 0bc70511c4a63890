// Stands before CUDA's header of this name where the fake GPU (../../simt) is compiled for objects of nvcc: the real declarations, and
// what tests ask the fake for. Tests look these functions up in the library by name.
#pragma once

#pragma GCC visibility push(default)
#include_next <cuda_runtime.h>

extern "C" {
unsigned long openaclnn_fake_cuda(const char* failures);
size_t openaclnn_fake_cuda_pinned_bytes();
}
#pragma GCC visibility pop
