// The text: its split into a part to learn and a part held out, its entropies, and batches drawn
// from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.h"
#include "random.h"

namespace train {

class Corpus {
 public:
  // Throws InputError when `path` is not a readable regular file of 4096 bytes to 1 GiB.
  explicit Corpus(const std::string& path);

  int64_t bytes() const { return static_cast<int64_t>(text_.size()); }
  // Positions [kContext, held_out_begin()) are for learning, [held_out_begin(), bytes()) are the
  // last twentieth.
  int64_t held_out_begin() const { return held_out_begin_; }

  // The position's byte and the kContext bytes before it, appended to the batch.
  void append(int64_t position, Batch& batch) const;
  // At most `limit` held-out positions, evenly spread, in batches of at most `rows`.
  std::vector<Batch> held_out(int64_t limit, int64_t rows) const;

  // Nats per byte of the best model that sees no context, and of the best that sees one byte,
  // fitted to this very text.
  double unigram_entropy() const;
  double bigram_entropy() const;

 private:
  std::string text_;
  int64_t held_out_begin_;
};

// Walks through the learning part in a new random order each time round.
class BatchSampler {
 public:
  BatchSampler(const Corpus& corpus, Random& random);
  void next(int64_t rows, Batch& batch);

 private:
  const Corpus& corpus_;
  Random& random_;
  std::vector<uint32_t> order_;
  size_t used_;
};

}  // namespace train
