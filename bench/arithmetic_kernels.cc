// The arithmetic kernels for one instruction set.
#include <utility>

#include "arithmetic.h"
#include "base/storage_types.h"
#include "cpu/lanes16.h"

namespace openaclnn_bench::OPENACLNN_ISA_NAMESPACE {

namespace {

using namespace openaclnn;
using namespace openaclnn::OPENACLNN_ISA_NAMESPACE;

constexpr int64_t kColumns = 128;      // of a row of a window
constexpr int64_t kBytesAhead = 8192;  // of prefetches
volatile float weights[kMostArithmeticWindows] = {0.5f, 0.25f, 0.125f, 1.0f};

template <class T>
int64_t elements(int64_t bytes) {
  return bytes / static_cast<int64_t>(sizeof(T));
}

float total_of(const F32x2& pair) { return hn::GetLane((pair.a + pair.b).raw); }

// Calls run(std::integral_constant<int, windows>).
template <class Run>
float with_windows(int windows, const Run& run) {
  switch (windows) {
    case 1: return run(std::integral_constant<int, 1>());
    case 2: return run(std::integral_constant<int, 2>());
    case 3: return run(std::integral_constant<int, 3>());
    default: return run(std::integral_constant<int, kMostArithmeticWindows>());
  }
}

// Calls use(p, pair) with the kPairs pairs of vectors of each strip of an array.
template <class T, int kPairs, class Use>
HWY_INLINE void for_each_strip(const void* from, int64_t bytes, const Use& use) {
  const T* const x = static_cast<const T*>(from);
  constexpr int64_t kStep = kPairs * F32x2::kLanes;
  for (int64_t i = 0; i + kStep <= elements<T>(bytes); i += kStep) {
    fetch<F32x2>(x + i + elements<T>(kBytesAhead));
#pragma GCC unroll 2
    for (int p = 0; p < kPairs; ++p) use(p, load<F32x2>(x + i + p * F32x2::kLanes));
  }
}

float sum(aclDataType dtype, const void* from, int64_t bytes) {
  return with_float_type(dtype, [&](auto type) {
    F32x2 sums[2] = {};
    for_each_strip<decltype(type), 2>(from, bytes, [&](int p, const F32x2& x) { sums[p] = sums[p] + x; });
    return total_of(sums[0] + sums[1]);
  });
}

template <class T, int kWindows>
float compress_rows(const void* from, int64_t bytes) {
  // More sums than registers would be kept in memory.
  constexpr int kPairs = kWindows <= 2 ? 2 : 1;
  F32x2 sums[kPairs][kWindows] = {};
  F32 weight[kWindows];
  for (int w = 0; w < kWindows; ++w) weight[w] = F32(weights[w]);
  for_each_strip<T, kPairs>(from, bytes, [&](int p, const F32x2& x) {
#pragma GCC unroll 4
    for (int w = 0; w < kWindows; ++w) sums[p][w] = multiply_add(weight[w], x, sums[p][w]);
  });
  float total = 0;
  for (int w = 0; w < kWindows; ++w) total += total_of(sums[0][w] + sums[kPairs - 1][w]);
  return total;
}

float compress(aclDataType dtype, int windows, const void* from, int64_t bytes) {
  return with_float_type(dtype, [&](auto type) {
    return with_windows(windows,
                        [&](auto count) { return compress_rows<decltype(type), count>(from, bytes); });
  });
}

template <class T, int kWindows>
float compress_grad_rows(const void* from, void* to, int64_t bytes) {
  alignas(64) static constexpr float kRows[kWindows * kColumns] = {};
  constexpr int64_t kStep = kLanes16Together * Lanes16::kLanes;
  const T* const x = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  float weight[kWindows];
  for (int w = 0; w < kWindows; ++w) weight[w] = weights[w];
  const float* rows = kRows;
  __asm__("" : "+r"(rows));  // so that their values are not known
  Lanes16 lanes[kWindows];
  AnyNan nan;
  for (int64_t row = 0; row + kColumns <= elements<T>(bytes); row += kColumns) {
    for (int64_t c = 0; c < kColumns; c += kStep) {
      Lanes16 sums[kLanes16Together];
#pragma GCC unroll 2
      for (int64_t k = 0; k < kLanes16Together; ++k) {
        const int64_t at = c + k * Lanes16::kLanes;
        fetch<Lanes16>(x + row + at + elements<T>(kBytesAhead));
        const Lanes16 value = in_registers(load<Lanes16>(x + row + at));
#pragma GCC unroll 4
        for (int w = 0; w < kWindows; ++w) {
          const Lanes16 grad = in_registers(load<Lanes16>(rows + w * kColumns + at));
          sums[k] = multiply_add(F32(weight[w]), grad, sums[k]);
          lanes[w] = multiply_add(grad, value, lanes[w]);
        }
      }
      write_together<true>(sums, out + row + c, nan);
    }
  }
  hwy::FlushStream();
  float total = nan ? 1 : 0;
  for (int w = 0; w < kWindows; ++w) total += sum_of_lanes<T>(lanes[w]);
  return total;
}

float compress_grad(aclDataType dtype, int windows, const void* from, void* to, int64_t bytes) {
  return with_float_type(dtype, [&](auto type) {
    return with_windows(
        windows, [&](auto count) { return compress_grad_rows<decltype(type), count>(from, to, bytes); });
  });
}

template <class T>
void update(const T* grad, T* var, T* m, T* v, T* average, int64_t count) {
  // 1 and 0, which the compiler doesn't know. The states keep their values.
  const F32 keep(weights[3]), more(weights[0] - 0.5f);
  for (int64_t i = 0; i < count; i += F32x2::kLanes) {
    const F32x2 g = load<F32x2>(grad + i);
    const F32x2 new_m = more * g + keep * load<F32x2>(m + i);
    const F32x2 new_v = more * (g * g) + keep * load<F32x2>(v + i);
    const F32x2 quotient = (keep * new_m) * (keep * new_v + F32x2{keep, keep});
    F32x2 new_var = load<F32x2>(var + i);
    new_var = new_var + more * (quotient + more * new_var);
    store_numbers(new_m, m + i);
    store_numbers(new_v, v + i);
    store_numbers(new_var, var + i);
    store_numbers(keep * load<F32x2>(average + i) + more * new_var, average + i);
  }
}

void ema_adam(aclDataType dtype, const void* grad, std::span<void* const, 4> states, int64_t bytes) {
  with_float_type(dtype, [&](auto type) {
    using T = decltype(type);
    const auto state = [&](size_t k) { return static_cast<T*>(states[k]); };
    update(static_cast<const T*>(grad), state(0), state(1), state(2), state(3), elements<T>(bytes));
  });
}

}  // namespace

const ArithmeticKernels& arithmetic() {
  static constexpr ArithmeticKernels kTable = {sum, compress, compress_grad, ema_adam};
  return kTable;
}

}  // namespace openaclnn_bench::OPENACLNN_ISA_NAMESPACE
