// The positions of token compression windows and the windows that cover a token, for kernels of all devices
// and for plans.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/inline.h"
#include "base/search.h"
#include "ops/nsa/plan.h"

namespace openaclnn {

// Returns the most windows that cover one token, or a token at distance `phase` < block_size from the start
// of a window.
OPENACLNN_INLINE int64_t overlapping_windows(const CompressionSizes& sizes, int64_t phase = 0) {
  return (sizes.block_size - 1 - phase) / sizes.stride + 1;
}

// Returns the first token of a window, even if the sequence is too short to have it.
OPENACLNN_INLINE int64_t first_token_of(const CompressionSizes& sizes, const Sequence& sequence,
                                        int64_t window) {
  return sequence.first_token + (window - sequence.first_window) * sizes.stride;
}

// Returns the index of the sequence that contains a window.
OPENACLNN_KERNEL_INLINE int64_t sequence_of_window(const CompressionSizes& sizes, const Sequence* sequences,
                                                   int64_t window) {
  const auto starts_behind = [&](int64_t k) { return sequences[k].first_window > window; };
  return first_where(0, sizes.sequences, starts_behind) - 1;
}

// Returns the index of the last sequence that starts at or before a token; -1 if all start after it.
OPENACLNN_KERNEL_INLINE int64_t sequence_at_token(const CompressionSizes& sizes, const Sequence* sequences,
                                                  int64_t token) {
  const auto starts_behind = [&](int64_t k) { return sequences[k].first_token > token; };
  return first_where(0, sizes.sequences, starts_behind) - 1;
}

// The windows [first, last] that cover a token; none if last < first. Window `first` multiplies it by weight
// `weight`, each further window by a weight `stride` rows earlier. The same windows cover the tokens before
// `until`, with consecutive weights.
struct Cover {
  int64_t first, last;
  int64_t weight;
  int64_t until;
};

// `sequence` is sequence_at_token(token). divide(a, b) returns a / b for a >= 0 and b >= 1, the fastest way
// on the device.
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
  // Only existing windows are considered: beyond them, products with the stride may overflow.
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
