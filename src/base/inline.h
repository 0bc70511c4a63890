// Forced inlining, for functions that kernels of several instruction sets and devices share: an out-of-line copy would be a weak
// symbol compiled for one set that code of another could pick.
#pragma once

#if defined(__CUDACC__)
#define OPENACLNN_INLINE __host__ __device__ __forceinline__
#define OPENACLNN_KERNEL_INLINE __device__ __forceinline__
#else
#define OPENACLNN_INLINE [[gnu::always_inline]] inline
#define OPENACLNN_KERNEL_INLINE [[gnu::always_inline]] inline
#endif

// OPENACLNN_KERNEL_INLINE is for functions that call what a kernel passes to them: CUDA kernels pass code that only a GPU can run.

// The same for functions that call what their caller brings, which a GPU could not.
#define OPENACLNN_HOST_INLINE [[gnu::always_inline]] inline
