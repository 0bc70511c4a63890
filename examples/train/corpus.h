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
  // Throws InputError if `path` is not a readable regular file of 4096 bytes to 1 GiB.
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

  // Nats per byte of the best model without context, and of the best with one byte of context,
  // fitted to this text.
  double unigram_entropy() const;
  double bigram_entropy() const;

 private:
  std::string text_;
  int64_t held_out_begin_;
};

// Iterates over the learning part, cut into sequences of random lengths, in a new random order each
// time.
class BatchSampler {
 public:
  BatchSampler(const Corpus& corpus, Random& random);
  // Returns exactly `rows` positions: the necessary number of sequences, the last one cut.
  void next(int64_t rows, Batch& batch);

 private:
  struct Stretch {
    int64_t first, last;
  };
  void cut();

  const Corpus& corpus_;
  Random& random_;
  std::vector<Stretch> stretches_;  // remaining of this pass, the next one last
};

}  // namespace train
