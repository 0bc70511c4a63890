// The weights of NsaCompressGrad, and the sums of their gradients, in its CPU kernel.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/storage_types.h"
#include "cpu/lanes16.h"
#include "cpu/threads.h"
#include "ops/nsa/compress_grad/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Token i of a window is token i - d of the next window, token i - 2d of the one after that, and so on. The
// weights by which these windows multiply a token follow each other, so one pointer reaches all of them:
// [phases, heads, windows] with the phase i % d.
class WindowWeights {
 public:
  WindowWeights(const CompressionSizes& sizes, float* weights)
      : heads_(sizes.heads),
        block_size_(sizes.block_size),
        stride_(sizes.stride),
        phases_(weight_phases(sizes)),
        windows_(most_windows_of_token(sizes)),
        weights_(weights) {}

  // Each weight multiplies whole rows of a head, so it is widened only once.
  template <class T>
  void widen(const T* from, const std::array<int64_t, 2>& strides) const {
    float* to = weights_;
    for (int64_t phase = 0; phase < phases_; ++phase) {
      for (int64_t head = 0; head < heads_; ++head) {
        for (int64_t window = windows_ - 1; window >= 0; --window, ++to) {
          const int64_t i = phase + window * stride_;
          *to = i < block_size_ ? to_float(from[i * strides[0] + head * strides[1]]) : 0.0f;
        }
      }
    }
  }

  // The weights of a token that is token i of its first window. Those of the first head come first.
  const float* of(int64_t i) const {
    const int64_t window = i / stride_;
    return weights_ + (i - window * stride_) * of_token() + (windows_ - 1 - window);
  }
  int64_t of_head() const { return windows_; }
  int64_t of_token() const { return heads_ * windows_; }

  // How many tokens, from token i of a window on, have weights that follow each other.
  int64_t tokens_from(int64_t i) const { return stride_ - i % stride_; }

 private:
  const int64_t heads_, block_size_, stride_, phases_, windows_;
  float* const weights_;
};

// Adds floats to doubles.
HWY_INLINE void add_widened(const float* values, int64_t count, double* sums) {
  using Doubles = hn::CappedTag<double, 4>;
  constexpr int64_t kTogether = static_cast<int64_t>(hn::MaxLanes(Doubles()));
  int64_t k = 0;
  for (; k + kTogether <= count; k += kTogether) {
    const auto more = hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), values + k));
    hn::StoreU(hn::Add(hn::LoadU(Doubles(), sums + k), more), Doubles(), sums + k);
  }
  for (; k < count; ++k) sums[k] += static_cast<double>(values[k]);
}

// [stretches, L, N]. Each stretch of tokens has its own sums, so that threads don't share any.
class WeightSums {
 public:
  WeightSums(const NsaCompressGradPlan& plan, double* sums)
      : block_size_(plan.sizes.block_size),
        heads_(plan.sizes.heads),
        stretches_(plan.stretches),
        windows_apart_(plan.sizes.stride < block_size_ ? -plan.sizes.stride * heads_ : 0),
        sums_(sums) {}

  void clear(int64_t stretch, cpu::Range heads) const {
    for (int64_t i = 0; i < block_size_; ++i) {
      std::memset(sum(stretch, i, heads.begin), 0,
                  static_cast<size_t>(heads.end - heads.begin) * sizeof(double));
    }
  }

  // Adds dots, floats of [windows, tokens, heads], of consecutive tokens. The first of them is token i of the
  // first window.
  void add(int64_t stretch, int64_t i, int64_t windows, int64_t tokens, cpu::Range heads,
           const float* dots) const {
    const int64_t count = heads.end - heads.begin;
    // If a tile has all heads, the sums of consecutive tokens follow each other.
    const int64_t rows = count == heads_ ? 1 : tokens;
    const int64_t columns = tokens * count / rows;
    double* const first = sum(stretch, i, heads.begin);
    for (int64_t w = 0; w < windows; ++w) {
      for (int64_t k = 0; k < rows; ++k, dots += columns)
        add_widened(dots, columns, first + w * windows_apart_ + k * heads_);
    }
  }

  // Writes the sums over all stretches.
  template <class T>
  void write_totals(T* to, const std::array<int64_t, 2>& strides) const {
    const int64_t weights = block_size_ * heads_;
    const int64_t chunks = cpu::chunks_for(weights * stretches_ * 8);
    cpu::parallel_for(chunks, [&](int64_t chunk) {
      const cpu::Range range = cpu::chunk_range(weights, chunks, chunk, 8);
      for (int64_t k = range.begin; k < range.end; ++k) {
        double total = 0;
        for (int64_t stretch = 0; stretch < stretches_; ++stretch) total += sums_[stretch * weights + k];
        T rounded[F32::kLanes];
        store(F32(static_cast<float>(total)), rounded);
        to[k / heads_ * strides[0] + k % heads_ * strides[1]] = rounded[0];
      }
    });
  }

 private:
  double* sum(int64_t stretch, int64_t i, int64_t head) const {
    return sums_ + (stretch * block_size_ + i) * heads_ + head;
  }

  const int64_t block_size_, heads_, stretches_;
  // From the sum of a window to that of the next one. If windows don't overlap, there is none, and the product
  // with the stride may overflow.
  const int64_t windows_apart_;
  double* const sums_;
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
