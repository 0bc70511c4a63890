// A piece of a token's gradient on the CPU: the inner loop of NsaCompressGrad.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/lanes16.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Columns of a head that are summed together. They are part of the order of additions of weightGrad. The
// products of a piece are added in 16 lanes, which are added in fp32 (16 + 4 additions at most). That sum is
// added to the weight's sum in double.
inline constexpr int64_t kPieceColumns = 256;

// Windows processed together, so that the token's row is loaded once for all of them.
inline constexpr int kMostTogether = 4;

// A piece of a token's gradient, and its products with kWindows windows. Windows are `grads_apart` elements
// apart, and so on.
template <int kWindows, class T, class Grad>
struct TokenGradient {
  const T* token;
  const T* ahead;  // what is read later, to be prefetched
  T* out;
  const Grad* output_grad;
  int64_t grads_apart;
  const float* weight;
  int64_t weights_apart;
  float* dots;  // a folded vector of each window
  int64_t dots_apart;

  // Processes 16 columns from `c` on: adds weight * output_grad of each window in turn to the sum, and
  // output_grad * token to the windows' lanes. Weights are loaded anew, which leaves registers to the lanes.
  template <class Load>
  HWY_INLINE Lanes16 add(int64_t c, const Load& load_lanes, Lanes16 sum, Lanes16 (&lanes)[kWindows]) const {
    const Lanes16 x = in_registers(load_lanes(token + c));
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      const Lanes16 g = in_registers(load_lanes(output_grad + w * grads_apart + c));
      sum = multiply_add(F32(weight[w * weights_apart]), g, sum);
      lanes[w] = multiply_add(g, x, lanes[w]);
    }
    return sum;
  }

  // For all windows of a token. Inlined, so that pointers and lanes stay in registers.
  template <bool kStreams>
  HWY_INLINE void run(int64_t columns) const {
    constexpr int64_t kStep = kLanes16Together * Lanes16::kLanes;
    Lanes16 lanes[kWindows];
    int64_t c = 0;
    for (; c + kStep <= columns; c += kStep) {
      const auto load_lanes = [](const auto* from) { return load<Lanes16>(from); };
      Lanes16 sums[kLanes16Together];
#pragma GCC unroll 2
      for (int64_t k = 0; k < kLanes16Together; ++k) {
        fetch<Lanes16>(ahead + c + k * Lanes16::kLanes);
        sums[k] = add(c + k * Lanes16::kLanes, load_lanes, Lanes16(), lanes);
      }
      write_together<kStreams>(sums, out + c);
    }
    for (; c < columns; c += Lanes16::kLanes) {
      const int64_t count = std::min(columns - c, Lanes16::kLanes);
      const auto load_lanes = [count](const auto* from) { return load_first<Lanes16>(from, count); };
      store_first(add(c, load_lanes, Lanes16(), lanes), out + c, count);
    }
    store_lanes(lanes);
  }

  // For some windows of a token. `partial` holds the sums of the previous ones.
  void run_some(int64_t columns, float* partial, bool is_first, bool is_last) const {
    Lanes16 lanes[kWindows];
    int64_t c = 0;
    for (; c + Lanes16::kLanes <= columns; c += Lanes16::kLanes) {
      const auto load_lanes = [](const auto* from) { return load<Lanes16>(from); };
      const Lanes16 sum = add(c, load_lanes, is_first ? Lanes16() : load_lanes(partial + c), lanes);
      is_last ? store(sum, out + c) : store(sum, partial + c);
    }
    if (c < columns) {
      const int64_t count = columns - c;
      const auto load_lanes = [count](const auto* from) { return load_first<Lanes16>(from, count); };
      const Lanes16 sum = add(c, load_lanes, is_first ? Lanes16() : load_lanes(partial + c), lanes);
      is_last ? store_first(sum, out + c, count) : store_first(sum, partial + c, count);
    }
    store_lanes(lanes);
  }

  HWY_INLINE void store_lanes(const Lanes16 (&lanes)[kWindows]) const {
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) hn::StoreU(fold(lanes[w]).raw, F32::Tag(), dots + w * dots_apart);
  }
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
