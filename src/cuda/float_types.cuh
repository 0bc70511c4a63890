// Storage types on the device: widening and rounding with the CPU's bits, for one element or a pack of
// neighbours.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "base/float16.h"
#include "cuda/kernel.cuh"

namespace openaclnn::cuda {

// Widens exactly. NaN payloads may differ from the CPU's, which affects no result.
template <class T>
__device__ __forceinline__ float to_fp32(T x) {
  if constexpr (std::is_same_v<T, Float16>) {
    return __half2float(__ushort_as_half(x.bits));
  } else {
    return to_float(x);
  }
}

// Rounds to nearest even, with one canonical NaN. The GPU's own conversions differ from the CPU's only for
// NaN.
template <class T>
__device__ __forceinline__ T from_fp32(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x != x ? std::bit_cast<float>(kCanonicalNanF32) : x;
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return {x != x ? kCanonicalNanBf16 : __bfloat16_as_ushort(__float2bfloat16_rn(x))};
  } else {
    return {x != x ? kCanonicalNanF16 : __half_as_ushort(__float2half_rn(x))};
  }
}

// Returns a * b + c, rounded once.
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }

// Rounds two numbers. The result for NaN is unspecified.
__device__ __forceinline__ void round_two(float a, float b, float& to_a, float& to_b) {
  to_a = a;
  to_b = b;
}
__device__ __forceinline__ void round_two(float a, float b, Bfloat16& to_a, Bfloat16& to_b) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
  to_a = {__bfloat16_as_ushort(both.x)};
  to_b = {__bfloat16_as_ushort(both.y)};
}
__device__ __forceinline__ void round_two(float a, float b, Float16& to_a, Float16& to_b) {
  const __half2 both = __floats2half2_rn(a, b);
  to_a = {__half_as_ushort(both.x)};
  to_b = {__half_as_ushort(both.y)};
}

// Number of elements in a 16-byte vector.
template <class T>
inline constexpr int kLanes = 16 / static_cast<int>(sizeof(T));

// Neighbouring elements that are loaded or stored together, 16 bytes per instruction.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T lane[kCount];
};

// Neighbouring elements as they are stored. They are kept as words until they are widened: nvcc would place
// each element of 16 bits in a register of its own.
template <class T, int kCount>
using Stored = std::conditional_t<sizeof(T) * kCount % sizeof(uint32_t) == 0,
                                  Pack<uint32_t, static_cast<int>(sizeof(T) * kCount / sizeof(uint32_t))>,
                                  Pack<T, kCount>>;

template <int kCount, class T>
__device__ __forceinline__ Stored<T, kCount> load_stored(const T* from) {
  return *reinterpret_cast<const Stored<T, kCount>*>(from);
}

// Widens two elements of Bfloat16 with one instruction each, which nvcc does not find by itself.
template <class T, int kCount>
__device__ __forceinline__ void widen(const Stored<T, kCount>& from, float (&to)[kCount]) {
  const auto pack = std::bit_cast<Pack<T, kCount>>(from);
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    if constexpr (std::is_same_v<T, Bfloat16> && kCount % 2 == 0) {
      const uint32_t word = from.lane[k / 2];
      to[k] = std::bit_cast<float>(k % 2 == 0 ? word << 16 : word & 0xFFFF0000u);
    } else {
      to[k] = to_fp32(pack.lane[k]);
    }
  }
}

template <int kCount, class T>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[kCount]) {
  widen<T, kCount>(load_stored<kCount>(from), to);
}

// Stores to global memory. Packs of 8 bytes and more are stored by intrinsics. For lanes computed one by one,
// nvcc 13.0 splits an assignment into stores of 2 or 4 bytes. A warp whose stores are 16 bytes apart then
// writes up to eight times as many sectors. Write-back is the default policy of stores.
template <int kCount, class T>
__device__ __forceinline__ void store_vectors(const Pack<T, kCount>& pack, T* to) {
  if constexpr (sizeof(pack) == 8) {
    __stwb(reinterpret_cast<uint2*>(to), std::bit_cast<uint2>(pack));
  } else if constexpr (sizeof(pack) >= 16) {
    constexpr int kVectors = sizeof(pack) / sizeof(uint4);
    struct Vectors {
      uint4 vector[kVectors];
    };
    const auto vectors = std::bit_cast<Vectors>(pack);
#pragma unroll
    for (int k = 0; k < kVectors; ++k) __stwb(reinterpret_cast<uint4*>(to) + k, vectors.vector[k]);
  } else {
    *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
  }
}

// from_fp32() of neighbours: rounds two at a time and tests two for NaN, which is rare, with one comparison.
template <int kCount, class T>
__device__ __forceinline__ Pack<T, kCount> round_pack(const float (&from)[kCount]) {
  Pack<T, kCount> pack;
  if constexpr (kCount % 2 == 0) {
    bool has_nan = false;
#pragma unroll
    for (int k = 0; k < kCount; k += 2) {
      round_two(from[k], from[k + 1], pack.lane[k], pack.lane[k + 1]);
      has_nan |= !((from[k] <= from[k + 1]) | (from[k] > from[k + 1]));
    }
    if (!has_nan) return pack;
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) pack.lane[k] = from_fp32<T>(from[k]);
  return pack;
}

template <int kCount, class T>
__device__ __forceinline__ void store_pack(const float (&from)[kCount], T* to) {
  store_vectors(round_pack<kCount, T>(from), to);
}

// Returns whether packs of kCount columns are aligned in every row. Address and strides are in elements of T.
template <int kCount, class T>
bool can_pack(const T* first, int64_t column_stride, int64_t columns,
              std::initializer_list<int64_t> strides) {
  bool can = column_stride == 1 && columns % kCount == 0 &&
             reinterpret_cast<uintptr_t>(first) % alignof(Pack<T, kCount>) == 0;
  for (const int64_t stride : strides) can = can && stride % kCount == 0;
  return can;
}

}  // namespace openaclnn::cuda
