// A kernel that only reads memory, which the device layer lacks: read.cu if there is nvcc, else absent.
#pragma once

#include <cstddef>

#if defined(OPENACLNN_BENCH_READS)
// A cudaStream_t, or nullptr.
void* create_native_stream();
// Returns CUDA's error.
int read_all(const void* data, size_t bytes, void* native_stream);
#else
inline void* create_native_stream() { return nullptr; }
inline int read_all(const void*, size_t, void*) { return 0; }
#endif
