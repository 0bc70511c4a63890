// The text: its split into a part to learn and a part held out, its entropies, and batches drawn
// from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.h"
#include "random.h"

namespace train {

inline constexpr int64_t kContext = 8;  // bytes before a position that its row holds side by side
// Positions of a sequence: of random length while learning, of the largest when judged.
inline constexpr int64_t kMinSequence = 32;
inline constexpr int64_t kMaxSequence = 128;

class Corpus {
 public:
  // Throws InputError when `path` is not a readable regular file of 4096 bytes to 1 GiB.
  explicit Corpus(const std::string& path);

  int64_t bytes() const { return static_cast<int64_t>(text_.size()); }
  // Positions [kContext, held_out_begin()) are for learning, [held_out_begin(), bytes()) are the
  // last twentieth.
  int64_t held_out_begin() const { return held_out_begin_; }

  // The positions from `first` to `last`, each with the kContext bytes before it, appended to the
  // batch as one more sequence.
  void append(int64_t first, int64_t last, Batch& batch) const;
  // At most `limit` held-out positions in sequences of kMaxSequence, evenly spread, some sequences a
  // batch.
  std::vector<Batch> held_out(int64_t limit) const;

  // Nats per byte of the best model that sees no context, and of the best that sees one byte,
  // fitted to this very text.
  double unigram_entropy() const;
  double bigram_entropy() const;

 private:
  std::string text_;
  int64_t held_out_begin_;
};

// Walks through the learning part, cut into sequences of random lengths, in a new random order each
// time round.
class BatchSampler {
 public:
  BatchSampler(const Corpus& corpus, Random& random);
  // Exactly `rows` positions: as many sequences as that takes, the last one cut.
  void next(int64_t rows, Batch& batch);

 private:
  struct Stretch {
    int64_t first, last;
  };
  void cut();

  const Corpus& corpus_;
  Random& random_;
  std::vector<Stretch> stretches_;  // still to come this time round, the next one last
};

}  // namespace train
