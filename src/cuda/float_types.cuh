// Storage types on the device: widening and rounding with the CPU's bits, one element or a pack of neighbours at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include "base/float16.h"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// Exact. Payloads of NaN may differ from the CPU's, which no result shows.
template <class T>
__device__ __forceinline__ float to_fp32(T x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, Float16>) return __half2float(__ushort_as_half(x.bits));
#endif
  return to_float(x);
}

// To nearest even, with one canonical NaN.
template <class T>
__device__ __forceinline__ T from_fp32(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x != x ? std::bit_cast<float>(kCanonicalNanF32) : x;
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return narrow_bf16(x);
  } else {
#if defined(__CUDA_ARCH__)
    return {x != x ? kCanonicalNanF16 : __half_as_ushort(__float2half_rn(x))};
#else
    return narrow_f16(x);
#endif
  }
}

// Elements of a 16-byte vector.
template <class T>
inline constexpr int kLanes = 16 / static_cast<int>(sizeof(T));

// Neighbours that move together, 16 bytes to an instruction.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T lane[kCount];
};

template <int kCount, class T>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[kCount]) {
  const Pack<T, kCount> pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
  for (int k = 0; k < kCount; ++k) to[k] = to_fp32(pack.lane[k]);
}

template <int kCount, class T>
__device__ __forceinline__ void store_pack(const float (&from)[kCount], T* to) {
  Pack<T, kCount> pack;
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.lane[k] = from_fp32<T>(from[k]);
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Whether packs of kCount columns are aligned in every row: address and strides in elements of T.
template <int kCount, class T>
bool can_pack(const T* first, int64_t column_stride, int64_t columns,
              std::initializer_list<int64_t> strides) {
  bool can = column_stride == 1 && columns % kCount == 0 &&
             reinterpret_cast<uintptr_t>(first) % alignof(Pack<T, kCount>) == 0;
  for (const int64_t stride : strides) can = can && stride % kCount == 0;
  return can;
}

}  // namespace openaclnn::cuda
