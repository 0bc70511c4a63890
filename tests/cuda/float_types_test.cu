// Tests storage types on the device, with the GPU's own conversions and stores: the bits of base/float16.h,
// for every input.
#include <cstring>
#include <random>

#include "cuda/float_types.cuh"
#include "pieces.h"

namespace openaclnn::cuda {
namespace {

// All inputs take too long without a GPU. The emulation uses the host's conversions, so some inputs suffice
// there.
constexpr uint64_t kStep = kOnGpu ? 1 : kOnPtxMachine ? 251 : 65521;

struct Differences {
  unsigned count, first;
};
__device__ void note(unsigned input, Differences* differences) {
  atomicAdd(&differences->count, 1u);
  atomicMin(&differences->first, input);
}

__device__ uint16_t wanted_bits(float x, Bfloat16) { return narrow_bf16(x).bits; }
__device__ uint16_t wanted_bits(float x, Float16) { return narrow_f16(x).bits; }

template <class T>
__global__ void round_all(Differences* differences) {
  for (uint64_t i = static_cast<uint64_t>(thread_number()) * kStep; i >> 32 == 0;
       i += static_cast<uint64_t>(thread_count()) * kStep) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(i));
    if (from_fp32<T>(x).bits != wanted_bits(x, T())) note(static_cast<uint32_t>(i), differences);
  }
}

template <class T>
__global__ void widen_all(Differences* differences) {
  for (int64_t i = thread_number(); i < 1 << 16; i += thread_count()) {
    const T x = {static_cast<uint16_t>(i)};
    const float found = to_fp32(x), wanted = to_float(x);
    const bool is_nan = found != found && wanted != wanted;  // any payload
    if (!is_nan && std::bit_cast<uint32_t>(found) != std::bit_cast<uint32_t>(wanted))
      note(static_cast<uint32_t>(i), differences);
  }
}

void expect_no_difference(void (*kernel)(Differences*)) {
  const TestArray<Differences> differences(1);
  differences[0].first = UINT32_MAX;
  finish(launch_kernel(kernel, grid_of(kOnGpu ? 1024 : 2), kThreads, 0, nullptr, differences.data()));
  EXPECT_EQ(differences[0].count, 0u) << "the first at the bits " << differences[0].first;
}

TEST(FloatTypes, RoundEveryFloatAsTheCpu) {
  expect_no_difference(round_all<Bfloat16>);
  expect_no_difference(round_all<Float16>);
}

TEST(FloatTypes, WidenEveryElementAsTheCpu) {
  expect_no_difference(widen_all<Bfloat16>);
  expect_no_difference(widen_all<Float16>);
}

template <int kCount, class T>
__global__ void store_packs(const float* from, T* packed, T* single) {
  float values[kCount];
  load_pack(from + thread_number() * kCount, values);
  store_pack(values, packed + thread_number() * kCount);
  for (int k = 0; k < kCount; ++k) single[thread_number() * kCount + k] = from_fp32<T>(values[k]);
}

template <int kCount, class T>
void expect_packs_like_elements() {
  constexpr size_t kElements = kThreads * kCount;
  const TestArray<float> from(kElements);
  const TestArray<T> packed(kElements + 64), single(kElements + 64);  // the elements after the last stay zero
  std::mt19937 random(kCount);
  for (size_t i = 0; i < kElements; ++i) from[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
  finish(launch_kernel(store_packs<kCount, T>, grid_of(1), kThreads, 0, nullptr, from.data(), packed.data(),
                       single.data()));
  EXPECT_EQ(std::memcmp(packed.data(), single.data(), (kElements + 64) * sizeof(T)), 0)
      << "packs of " << kCount << " elements of " << sizeof(T) << " bytes";
}

TEST(FloatTypes, StorePacksLikeElements) {
  expect_packs_like_elements<1, float>();
  expect_packs_like_elements<2, float>();
  expect_packs_like_elements<4, float>();
  expect_packs_like_elements<8, float>();
  expect_packs_like_elements<2, Bfloat16>();
  expect_packs_like_elements<4, Bfloat16>();
  expect_packs_like_elements<8, Bfloat16>();
  expect_packs_like_elements<4, Float16>();
  expect_packs_like_elements<8, Float16>();
}

}  // namespace
}  // namespace openaclnn::cuda
