// Where the windows of token compression begin and which of them cover a token, for the kernels of every device and for plans.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/inline.h"
#include "base/search.h"
#include "ops/nsa/plan.h"

namespace openaclnn {

// The most windows that cover one token. With `phase`: a token so far behind the start of a window, where phase < block_size.
OPENACLNN_INLINE int64_t overlapping_windows(const CompressionSizes& sizes, int64_t phase = 0) {
  return (sizes.block_size - 1 - phase) / sizes.stride + 1;
}

// The first token of a window, which the sequence has or would have if it were longer.
OPENACLNN_INLINE int64_t first_token_of(const CompressionSizes& sizes, const Sequence& sequence,
                                        int64_t window) {
  return sequence.first_token + (window - sequence.first_window) * sizes.stride;
}

// The index of the sequence that has a window.
OPENACLNN_KERNEL_INLINE int64_t sequence_of_window(const CompressionSizes& sizes, const Sequence* sequences,
                                                   int64_t window) {
  const auto starts_behind = [&](int64_t k) { return sequences[k].first_window > window; };
  return first_where(0, sizes.sequences, starts_behind) - 1;
}

// The index of the last sequence that starts at a token or before it; -1 when all start behind it.
OPENACLNN_KERNEL_INLINE int64_t sequence_at_token(const CompressionSizes& sizes, const Sequence* sequences,
                                                  int64_t token) {
  const auto starts_behind = [&](int64_t k) { return sequences[k].first_token > token; };
  return first_where(0, sizes.sequences, starts_behind) - 1;
}

// The windows [first, last] that cover a token; none when last < first. Window `first` meets it with weight `weight`, each further
// one with a weight `stride` rows earlier. The same windows cover the tokens before `until`, with weights that follow.
struct Cover {
  int64_t first, last;
  int64_t weight;
  int64_t until;
};

// `sequence` is sequence_at_token(token). divide(a, b): a / b for a >= 0 and b >= 1, in the way that is fastest on the device.
template <class Divide>
OPENACLNN_KERNEL_INLINE Cover cover_of(const CompressionSizes& sizes, const Sequence* sequences,
                                       int64_t sequence, int64_t token, const Divide& divide) {
  Cover cover = {0, -1, 0, INT64_MAX};
  if (sequence + 1 < sizes.sequences) cover.until = sequences[sequence + 1].first_token;
  if (sequence < 0) return cover;
  const Sequence& s = sequences[sequence];
  const int64_t position = token - s.first_token;
  const int64_t started = divide(position, sizes.stride);
  const int64_t first =
      position < sizes.block_size ? 0 : divide(position - sizes.block_size, sizes.stride) + 1;
  // Only windows that exist are looked at: behind them products with the stride might not be numbers.
  if (started + 1 < s.windows)
    cover.until = std::min(cover.until, s.first_token + (started + 1) * sizes.stride);
  const int64_t last = started < s.windows ? started : s.windows - 1;
  if (first > last) return cover;
  cover.first = s.first_window + first;
  cover.last = s.first_window + last;
  cover.weight = position - first * sizes.stride;
  cover.until = std::min(cover.until, token - cover.weight + sizes.block_size);
  return cover;
}

}  // namespace openaclnn
