// A piece of a token's gradient on the CPU: the inner loop of NsaCompressGrad.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/checked.h"
#include "cpu/lanes16.h"
#include "cpu/views.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Columns of a head that are summed together. They are part of the order of additions of weightGrad. The
// products of a piece are added in 16 lanes, which are added in fp32 (16 + 4 additions at most). That sum is
// added to the weight's sum in double.
inline constexpr int64_t kPieceColumns = 256;

// Windows processed together, so that the token's row is loaded once for all of them.
inline constexpr int kMostTogether = 4;

// Floats in the scratch memory for so many columns of a window, see widen_grads().
inline int64_t widened_columns(int64_t columns) {
  return ceil_div(columns, Lanes16::kLanes) * Lanes16::kLanes;
}

// Widens columns of a window once, for all tokens that it covers. They have the order of Lanes16 of T, and are
// followed by +0 up to whole lanes.
template <class T>
inline void widen_grads(const T* from, int64_t stride, int64_t columns, float* to) {
  for (int64_t c = 0; c < columns; c += Lanes16::kLanes) {
    const int64_t count = std::min(columns - c, Lanes16::kLanes);
    T buffer[Lanes16::kLanes];
    const T* const next = gathered(from + c * stride, stride, count, buffer);
    const Lanes16 lanes = count == Lanes16::kLanes ? load<Lanes16>(next) : load_first<Lanes16>(next, count);
    store_numbers(lanes, to + c);
  }
}

// A piece of a token's gradient, and its products with kWindows windows. Windows are `grads_apart` elements
// apart, and so on. A Grad other than T is float, the result of widen_grads().
template <int kWindows, class T, class Grad>
struct TokenGradient {
  // Columns of a step: with AVX2 a whole line, while the registers suffice.
  static constexpr int64_t kStep = F32::kLanes == 8 && kWindows <= 2
                                       ? kLineBytes / static_cast<int64_t>(sizeof(T))
                                       : kLanes16Together * Lanes16::kLanes;

  const T* token;
  const T* ahead;  // what is read later, to be prefetched
  T* out;
  const Grad* output_grad;
  int64_t grads_apart;
  const float* weights;  // of the windows, which follow each other
  int64_t head_weights;  // from a head's weights to the next head's
  float* dots;           // a folded vector of each window and head
  int64_t dots_apart;

  // Processes up to 16 columns from `c` on: adds weight * output_grad of each window in turn to the sum, and
  // output_grad * token to the windows' lanes. Weights are loaded anew, which leaves registers to the lanes.
  HWY_INLINE Lanes16 add(const float* weight, int64_t c, int64_t count, Lanes16 sum,
                         Lanes16 (&lanes)[kWindows]) const {
    const Lanes16 x = in_registers(load_columns(token + c, count));
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      const Lanes16 g = in_registers(load_columns(output_grad + w * grads_apart + c, count));
      sum = multiply_add(F32(weight[w]), g, sum);
      lanes[w] = multiply_add(g, x, lanes[w]);
    }
    return sum;
  }

  // For all windows of a token, in `heads` heads whose columns follow each other in all rows. Inlined, so that
  // pointers and lanes stay in registers. One index for all rows leaves little to do from head to head, and
  // less if the columns of a head are whole steps.
  template <bool kStreams, bool kWholeSteps>
  HWY_INLINE void run(int64_t heads, int64_t columns) const {
    int64_t c = 0;
    AnyNan nan;
    for (int64_t head = 0; head < heads; ++head) {
      const float* const weight = weights + head * head_weights;
      Lanes16 lanes[kWindows];
      const int64_t end = c + columns;
      const int64_t whole = kWholeSteps ? end : c + columns / kStep * kStep;
      for (; c < whole; c += kStep) add_step<kStreams>(weight, c, lanes, nan);
      for (; !kWholeSteps && c < end; c += Lanes16::kLanes) {
        const int64_t count = std::min(end - c, Lanes16::kLanes);
        store_columns(add(weight, c, count, Lanes16(), lanes), out + c, count);
      }
      c = end;
      store_lanes(lanes, dots + head * F32::kLanes);
    }
    if (HWY_UNLIKELY(nan)) write_anew(heads, columns);
  }

  // For some windows of a token. `partial` holds the sums of the previous ones, as whole lanes.
  void run_some(int64_t columns, float* partial, bool is_first, bool is_last) const {
    Lanes16 lanes[kWindows];
    for (int64_t c = 0; c < columns; c += Lanes16::kLanes) {
      const int64_t count = std::min(columns - c, Lanes16::kLanes);
      const Lanes16 sum = add(weights, c, count, is_first ? Lanes16() : load<Lanes16>(partial + c), lanes);
      is_last ? store_columns(sum, out + c, count) : store(sum, partial + c);
    }
    store_lanes(lanes, dots);
  }

  template <bool kStreams>
  HWY_INLINE void add_step(const float* weight, int64_t c, Lanes16 (&lanes)[kWindows], AnyNan& nan) const {
#pragma GCC unroll 2
    for (const int64_t end = c + kStep; c < end; c += kLanes16Together * Lanes16::kLanes) {
      Lanes16 sums[kLanes16Together];
#pragma GCC unroll 2
      for (int64_t k = 0; k < kLanes16Together; ++k) {
        fetch<Lanes16>(ahead + c + k * Lanes16::kLanes);
        sums[k] = add(weight, c + k * Lanes16::kLanes, Lanes16::kLanes, Lanes16(), lanes);
      }
      write_together<kStreams>(sums, out + c, nan);
    }
  }

  // Writes results again, some of which are NaN. This is rare.
  HWY_NOINLINE void write_anew(int64_t heads, int64_t columns) const {
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t c = 0; c < columns; c += Lanes16::kLanes) {
        const int64_t at = head * columns + c, count = std::min(columns - c, Lanes16::kLanes);
        Lanes16 unused[kWindows];
        store_columns(add(weights + head * head_weights, at, count, Lanes16(), unused), out + at, count);
      }
    }
  }

  // Widened windows are whole lanes.
  template <class Element>
  static HWY_INLINE Lanes16 load_columns(const Element* from, int64_t count) {
    const bool is_whole = count == Lanes16::kLanes || !std::is_same_v<Element, T>;
    return is_whole ? load<Lanes16>(from) : load_first<Lanes16>(from, count);
  }
  static HWY_INLINE void store_columns(const Lanes16& value, T* to, int64_t count) {
    count == Lanes16::kLanes ? store(value, to) : store_first(value, to, count);
  }

  HWY_INLINE void store_lanes(const Lanes16 (&lanes)[kWindows], float* to) const {
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) hn::StoreU(fold<T>(lanes[w]).raw, F32::Tag(), to + w * dots_apart);
  }
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
