// A piece of some tokens' gradients on the CPU: the inner loop of NsaCompressGrad.
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

// How many tokens are processed together if their windows are the same, so that a row of a window is loaded and
// widened once for all of them. Four take longer in 16 bits (bench/experiments.md).
inline constexpr int kTokensTogether = F32::kLanes == 16 ? 2 : 1;

// A piece of the gradients of some tokens, and the tokens' products with kWindows windows. Tokens are
// `tokens_apart` elements apart, and so on. A Grad other than T is float, the result of widen_grads().
template <int kWindows, class T, class Grad>
struct TokenGradients {
  // Columns of a step: with AVX2 a whole line, while the registers suffice.
  static constexpr int64_t kStep = F32::kLanes == 8 && kWindows <= 2
                                       ? kLineBytes / static_cast<int64_t>(sizeof(T))
                                       : kLanes16Together * Lanes16::kLanes;

  const T* tokens;
  int64_t tokens_apart = 0;
  int64_t ahead = 0;  // from the tokens to what is read later, to be prefetched
  T* out;
  int64_t out_apart = 0;
  const Grad* output_grad;
  int64_t grads_apart;
  const float* weights;       // of a token's windows, which follow each other
  int64_t token_weights = 0;  // from a token's weights to the next token's
  int64_t head_weights = 0;   // from a head's weights to the next head's
  float* dots;                // a folded vector of each window, token and head
  int64_t dots_apart;         // from a window to the next one
  int64_t token_dots = 0;     // from a token to the next one

  template <int kTokens>
  using Sums = Lanes16[kTokens];
  template <int kTokens>
  using Products = Lanes16[kTokens][kWindows];

  // Processes up to 16 columns from `c` on: adds weight * output_grad of each window in turn to the sums, and
  // output_grad * token to the windows' products. Weights are loaded anew, which leaves registers to the products.
  template <int kTokens>
  HWY_INLINE void add(const float* weight, int64_t c, int64_t count, Sums<kTokens>& sums,
                      Products<kTokens>& products) const {
    Lanes16 x[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) x[t] = in_registers(load_columns(tokens + t * tokens_apart + c, count));
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      const Lanes16 g = in_registers(load_columns(output_grad + w * grads_apart + c, count));
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        sums[t] = multiply_add(F32(weight[t * token_weights + w]), g, sums[t]);
        products[t][w] = multiply_add(g, x[t], products[t][w]);
      }
    }
  }

  // For all windows of kTokens tokens, in `heads` heads whose columns follow each other in all rows. Inlined, so that
  // pointers and products stay in registers. One index for all rows leaves little to do from head to head, and
  // less if the columns of a head are whole steps.
  template <int kTokens, bool kStreams, bool kWholeSteps>
  HWY_INLINE void run(int64_t heads, int64_t columns) const {
    int64_t c = 0;
    AnyNan nan;
    for (int64_t head = 0; head < heads; ++head) {
      const float* const weight = weights + head * head_weights;
      Products<kTokens> products;
      const int64_t end = c + columns;
      const int64_t whole = kWholeSteps ? end : c + columns / kStep * kStep;
      for (; c < whole; c += kStep) add_step<kTokens, kStreams>(weight, c, products, nan);
      if constexpr (!kWholeSteps) add_rest<kTokens>(weight, c, end, products);
      c = end;
      store_products<kTokens>(products, dots + head * F32::kLanes);
    }
    if (HWY_UNLIKELY(nan)) write_anew<kTokens>(heads, columns);
  }

  // For some windows of a token. `partial` holds the sums of the previous ones, as whole lanes.
  void run_some(int64_t columns, float* partial, bool is_first, bool is_last) const {
    Products<1> products;
    for (int64_t c = 0; c < columns; c += Lanes16::kLanes) {
      const int64_t count = std::min(columns - c, Lanes16::kLanes);
      Sums<1> sum = {is_first ? Lanes16() : load<Lanes16>(partial + c)};
      add<1>(weights, c, count, sum, products);
      is_last ? store_columns(sum[0], out + c, count) : store(sum[0], partial + c);
    }
    store_products<1>(products, dots);
  }

  template <int kTokens, bool kStreams>
  HWY_INLINE void add_step(const float* weight, int64_t c, Products<kTokens>& products, AnyNan& nan) const {
#pragma GCC unroll 2
    for (const int64_t end = c + kStep; c < end; c += kLanes16Together * Lanes16::kLanes) {
      Sums<kTokens> sums[kLanes16Together];
#pragma GCC unroll 2
      for (int64_t k = 0; k < kLanes16Together; ++k) {
        const int64_t at = c + k * Lanes16::kLanes;
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) fetch<Lanes16>(tokens + t * tokens_apart + ahead + at);
        add<kTokens>(weight, at, Lanes16::kLanes, sums[k], products);
      }
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        Lanes16 together[kLanes16Together];
#pragma GCC unroll 2
        for (int64_t k = 0; k < kLanes16Together; ++k) together[k] = sums[k][t];
        write_together<kStreams>(together, out + t * out_apart + c, nan);
      }
    }
  }

  // The columns [c, end), sixteen at a time and the rest.
  template <int kTokens>
  HWY_INLINE void add_rest(const float* weight, int64_t c, int64_t end, Products<kTokens>& products) const {
    for (; c < end; c += Lanes16::kLanes) {
      const int64_t count = std::min(end - c, Lanes16::kLanes);
      Sums<kTokens> sums;
      add<kTokens>(weight, c, count, sums, products);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) store_columns(sums[t], out + t * out_apart + c, count);
    }
  }

  // Writes results again, some of which are NaN. This is rare.
  template <int kTokens>
  HWY_NOINLINE void write_anew(int64_t heads, int64_t columns) const {
    for (int64_t head = 0; head < heads; ++head) {
      Products<kTokens> unused;
      add_rest<kTokens>(weights + head * head_weights, head * columns, (head + 1) * columns, unused);
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

  template <int kTokens>
  HWY_INLINE void store_products(const Products<kTokens>& products, float* to) const {
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        hn::StoreU(fold<T>(products[t][w]).raw, F32::Tag(), to + w * dots_apart + t * token_dots);
      }
    }
  }
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
