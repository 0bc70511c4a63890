// NsaCompressGrad: compares the windows that cover a token with the definition of windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/nsa/cover.h"
#include "ops/nsa/verify/windows.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

// The sequences of a call that have windows, and the first token of each window.
struct Windows {
  CompressionSizes sizes = {};
  std::vector<Sequence> sequences;
  std::vector<int64_t> starts;

  Windows(int64_t block_size, int64_t stride, const std::vector<int64_t>& lengths) {
    sizes.block_size = block_size;
    sizes.stride = stride;
    for (const int64_t length : lengths) {
      const std::vector<int64_t> inside =
          openaclnn_verify::window_starts({block_size, stride, {length}}, length);
      const auto count = static_cast<int64_t>(inside.size());
      if (count > 0) sequences.push_back({sizes.tokens, sizes.windows, count});
      for (const int64_t start : inside) starts.push_back(sizes.tokens + start);
      sizes.tokens += length;
      sizes.windows += count;
    }
    sizes.sequences = static_cast<int64_t>(sequences.size());
  }

  Cover cover(int64_t token) const {
    const auto divide = [](int64_t a, int64_t b) { return a / b; };
    return cover_of(sizes, sequences.data(), sequence_at_token(sizes, sequences.data(), token), token,
                    divide);
  }

  // The windows that cover a token are neighbours.
  std::vector<int64_t> windows_of(int64_t token) const {
    std::vector<int64_t> found;
    for (int64_t w = 0; w < sizes.windows; ++w) {
      const int64_t start = starts[static_cast<size_t>(w)];
      if (start <= token && token < start + sizes.block_size) found.push_back(w);
    }
    return found;
  }
};

void expect_covers(const Windows& windows) {
  for (int64_t token = 0; token < windows.sizes.tokens; ++token) {
    const Cover cover = windows.cover(token);
    ASSERT_GT(cover.until, token);
    const int64_t end = std::min(cover.until, windows.sizes.tokens);
    for (int64_t later = token; later < end; ++later) {
      const std::vector<int64_t> expected = windows.windows_of(later);
      std::vector<int64_t> found(static_cast<size_t>(std::max<int64_t>(cover.last - cover.first + 1, 0)));
      std::iota(found.begin(), found.end(), cover.first);
      ASSERT_EQ(found, expected) << "tokens " << token << ", " << later;
      ASSERT_LE(static_cast<int64_t>(found.size()), overlapping_windows(windows.sizes));
    }
    if (cover.first > cover.last) continue;
    ASSERT_EQ(token - cover.weight, windows.starts[static_cast<size_t>(cover.first)]) << "token " << token;
  }
  for (int64_t w = 0; w < windows.sizes.windows; ++w) {
    const Sequence& sequence =
        windows
            .sequences[static_cast<size_t>(sequence_of_window(windows.sizes, windows.sequences.data(), w))];
    ASSERT_EQ(first_token_of(windows.sizes, sequence, w), windows.starts[static_cast<size_t>(w)]);
  }
}

TEST(Cover, IsWhatTheDefinitionOfWindowsSays) {
  openaclnn_test::Random random(20260101);
  for (int64_t block_size = 1; block_size <= 7; ++block_size) {
    for (int64_t stride = 1; stride <= 9; ++stride) {
      for (int repetition = 0; repetition < 4; ++repetition) {
        std::vector<int64_t> lengths;
        for (int k = 0; k < 4; ++k) lengths.push_back(random.below(20));
        expect_covers({block_size, stride, lengths});
      }
    }
  }
}

// Beyond the existing windows, products with the stride would overflow int64.
TEST(Cover, LooksAtNoWindowBehindTheLast) {
  expect_covers({3, INT64_MAX / 2, {5, 2, 4}});
  expect_covers({3, INT64_MAX / 2, {0, 9}});
}

}  // namespace
}  // namespace openaclnn
