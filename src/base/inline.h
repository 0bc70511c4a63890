// Forced inlining, for functions that kernels of several instruction sets and devices share. An out-of-line
// copy would be a weak symbol, compiled for one set, that the linker could use for code of another set.
#pragma once

#if defined(__CUDACC__)
#define OPENACLNN_INLINE __host__ __device__ __forceinline__
#define OPENACLNN_KERNEL_INLINE __device__ __forceinline__
#else
#define OPENACLNN_INLINE [[gnu::always_inline]] inline
#define OPENACLNN_KERNEL_INLINE [[gnu::always_inline]] inline
#endif

// OPENACLNN_KERNEL_INLINE is for functions that call code passed by a kernel: CUDA kernels pass code that
// only a GPU can run.

// The same for functions that call code passed by the host, which a GPU cannot run.
#define OPENACLNN_HOST_INLINE [[gnu::always_inline]] inline
