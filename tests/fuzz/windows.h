// Sequences of tokens and their windows from a fuzzer's choices, for the two operators of token
// compression.
#pragma once

#include "fuzz/found.h"
#include "fuzz/input.h"
#include "ops/nsa/verify/windows.h"
#include "support/verify.h"

namespace openaclnn_test {

struct FuzzedWindows {
  explicit FuzzedWindows(Input& in) {
    attributes.block_size = in.pick({2, 1, 3, 5, 9});
    attributes.stride = in.pick<int64_t>({1, 2, 3, 7, INT64_MAX - 200});
    attributes.length_type = in.below(2);
    attributes.pass_lengths = in.chance();
    const int64_t sequences = in.below(4);
    for (int64_t k = 0; k < sequences; ++k) attributes.lengths.push_back(in.below(7));
    tokens = std::accumulate(attributes.lengths.begin(), attributes.lengths.end(), int64_t{0});
    if (!attributes.pass_lengths || sequences == 0) {
      // NULL, or no entries: up to three batches of equal length.
      const int64_t batches_and_length = in.below(48);
      const int64_t batches = 1 + batches_and_length / 16, length = batches_and_length % 16;
      tokens = batches * length;
      attributes.lengths.assign(static_cast<size_t>(batches), length);
      attributes.pass_lengths = true;
      windows = static_cast<int64_t>(window_starts(attributes, tokens).size());
      WindowAttributes without = attributes;
      without.pass_lengths = false;
      without = with_fitting_batches(without, tokens, windows);
      if (fuzz_mode() != FuzzMode::strict || !is_ambiguous(without, tokens)) attributes = without;
    } else if (fuzz_mode() != FuzzMode::strict) {
      tokens += in.below(3);  // tokens outside all sequences
    }
    heads = 1 + in.below(3);
    columns = in.pick({1, 2, 5, 8, 9});
    windows = static_cast<int64_t>(window_starts(attributes, tokens).size());
  }

  WindowAttributes attributes;
  int64_t tokens = 0, heads = 0, columns = 0, windows = 0;
};

}  // namespace openaclnn_test
