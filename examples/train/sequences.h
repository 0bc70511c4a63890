// Where the sequences of a packed batch lie: their rows follow each other without gaps.
#pragma once

#include <cstdint>
#include <vector>

namespace train {

struct Sequences {
  std::vector<int64_t> ends;  // of each sequence, one past its last row

  size_t count() const { return ends.size(); }
  int64_t begin(size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
  int64_t length(size_t i) const { return ends[i] - begin(i); }
  int64_t rows() const { return ends.empty() ? 0 : ends.back(); }
};

// Compression blocks: `length` rows each, one every `stride` rows of a sequence.
struct Blocks {
  int64_t length;
  int64_t stride;

  // Blocks that lie wholly in the first `rows` rows of a sequence.
  int64_t within(int64_t rows) const { return rows < length ? 0 : (rows - length) / stride + 1; }
  int64_t within(const Sequences& sequences) const {
    int64_t count = 0;
    for (size_t i = 0; i < sequences.count(); ++i) count += within(sequences.length(i));
    return count;
  }
};

}  // namespace train
