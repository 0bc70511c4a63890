// CUDA's device language on a CPU: kernels of .cu files compile unchanged with a C++ compiler and run under
// its sanitizers without a GPU.
//
// Every CUDA thread is a fiber. The blocks of a launch run one after the other on the calling thread. The
// fibers of a block take turns, which end only at barriers and warp operations.
// OPENACLNN_SIMT_SCHEDULE=reverse reverses the order of blocks and threads, which exposes missing barriers.
// If not all threads reach a barrier or warp operation, the process ends with an error message that lists
// the waiting threads. Warp operations take whole warps: masks of parts of a warp are rejected.
// ThreadSanitizer sees every CUDA thread as a thread (races.h) and reports accesses of one block that no
// barrier orders.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ [[gnu::always_inline]] inline
#define __grid_constant__
#define __launch_bounds__(...)
// Blocks run at the same time only on different threads of the host.
#define __shared__ static thread_local

struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

extern constinit thread_local uint3 threadIdx, blockIdx;
extern constinit thread_local dim3 blockDim, gridDim;

namespace openaclnn::simt {

// A place in a kernel: std::source_location, which clang 14 lacks.
struct Where {
  const char* file = "";
  unsigned line = 0;

  static constexpr Where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

// A launch as data: a stream of the emulation keeps it until it runs.
struct KernelLaunch {
  dim3 grid, block;
  size_t shared_bytes;
  std::function<void()> thread;  // the body of each thread
};

// Returns 0, or CUDA's error number for a shape that no GPU accepts.
int check(const KernelLaunch& launch);

// Runs all blocks on the calling thread.
void run(const KernelLaunch& launch);

// Puts a checked launch on a stream. Without a hook it runs at once. The hook returns the launch's error, 0
// for none.
using LaunchHook = int (*)(void* stream, KernelLaunch&& launch);
void set_launch_hook(LaunchHook hook);
int enqueue(void* stream, KernelLaunch&& launch);

enum class Schedule { forward, reverse };
void set_schedule(Schedule schedule);

void wait_for_block(const Where& where);
void wait_for_warp(unsigned mask, const Where& where);

// Returns the values that the warp's lanes passed as `value`, after all have arrived; `operation` must be
// the same in all.
const uint64_t* exchange(const char* operation, unsigned mask, uint64_t value, const Where& where);

unsigned lane();

template <class T>
uint64_t to_word(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T from_word(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
T shuffle(const char* operation, unsigned mask, T value, unsigned source, int width, const Where& where) {
  const unsigned own = lane();
  const uint64_t* const words = exchange(operation, mask, to_word(value), where);
  const unsigned segment = static_cast<unsigned>(width) - 1;
  return from_word<T>(words[(own & ~segment) == (source & ~segment) && source < 32 ? source : own]);
}

}  // namespace openaclnn::simt

// ---- barriers and warp operations ----

inline void __syncthreads(openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  openaclnn::simt::wait_for_block(where);
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu,
                       openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  openaclnn::simt::wait_for_warp(mask, where);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  const unsigned segment = openaclnn::simt::lane() & ~(static_cast<unsigned>(width) - 1);
  const unsigned from = segment + (static_cast<unsigned>(source) & (static_cast<unsigned>(width) - 1));
  return openaclnn::simt::shuffle("__shfl_sync", mask, value, from, width, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  const unsigned from = openaclnn::simt::lane() + delta;
  return openaclnn::simt::shuffle("__shfl_down_sync", mask, value, from, width, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  const unsigned from = openaclnn::simt::lane() - delta;  // below 0: beyond 31
  return openaclnn::simt::shuffle("__shfl_up_sync", mask, value, from, width, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  const unsigned from = openaclnn::simt::lane() ^ static_cast<unsigned>(lanes);
  return openaclnn::simt::shuffle("__shfl_xor_sync", mask, value, from, width, where);
}
inline unsigned __ballot_sync(unsigned mask, bool predicate,
                              openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  const uint64_t* const words = openaclnn::simt::exchange("__ballot_sync", mask, predicate ? 1 : 0, where);
  unsigned ballot = 0;
  for (unsigned k = 0; k < 32; ++k) ballot |= static_cast<unsigned>(words[k] & 1) << k;
  return ballot;
}
inline int __any_sync(unsigned mask, bool predicate,
                      openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  return __ballot_sync(mask, predicate, where) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, bool predicate,
                      openaclnn::simt::Where where = openaclnn::simt::Where::current()) {
  return __ballot_sync(mask, !predicate, where) == 0 ? 1 : 0;
}

// ---- numbers and memory: other blocks, of other streams, may run at the same time on other threads ----

inline int __ffs(int word) { return __builtin_ffs(word); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }

template <class T>
T __ldcg(const T* from) {
  return *from;
}
// An atomic operation: ThreadSanitizer does not see fences.
void __threadfence();

inline void __stwb(uint2* to, uint2 value) { *to = value; }
inline void __stwb(uint4* to, uint4 value) { *to = value; }

template <class T>
requires std::is_integral_v<T> T atomicAdd(T* to, T value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
template <class T>
requires std::is_integral_v<T> T atomicOr(T* to, T value) {
  return __atomic_fetch_or(to, value, __ATOMIC_RELAXED);
}
template <class T>
requires std::is_integral_v<T> T atomicCAS(T* to, T expected, T value) {
  __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
requires std::is_integral_v<T> T atomicMin(T* to, T value) {
  T before = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (value < before &&
         !__atomic_compare_exchange_n(to, &before, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}
template <class T>
requires std::is_integral_v<T> T atomicMax(T* to, T value) {
  T before = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (value > before &&
         !__atomic_compare_exchange_n(to, &before, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}
