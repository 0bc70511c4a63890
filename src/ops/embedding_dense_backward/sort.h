// Groups the positions of an index tensor by row with a stable parallel radix sort, and finds out-of-range
// indices.
//
// Stability gives the order of additions of the specification, ascending position within a row, for any
// number of threads. Indices are read once. All later steps use the workspace, so data that changes later
// cannot cause an out-of-bounds write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/index_values.h"
#include "base/kernel_io.h"
#include "base/search.h"
#include "base/workspace_part.h"
#include "cpu/fault_counter.h"
#include "cpu/loops.h"
#include "ops/embedding_dense_backward/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Word is uint32_t or uint64_t, wide enough for rows and positions.
template <class Word>
struct SortEntry {
  Word row;
  Word position;
};

// Entries sorted by row, then by position. Readers test the width of the entries at every access. The branch
// always goes the same way, and the code that sums rows is compiled once instead of once per width.
class SortedPositions {
 public:
  SortedPositions() = default;
  template <class Word>
  SortedPositions(const SortEntry<Word>* entries, int64_t entry_count)
      : count(entry_count), entries_(entries), is_wide_(sizeof(Word) == sizeof(uint64_t)) {}

  int64_t row(int64_t entry) const {
    return is_wide_ ? static_cast<int64_t>(at<uint64_t>(entry).row) : at<uint32_t>(entry).row;
  }
  int64_t position(int64_t entry) const {
    return is_wide_ ? static_cast<int64_t>(at<uint64_t>(entry).position) : at<uint32_t>(entry).position;
  }

  int64_t count = 0;  // positions in range, without those of the padding row

 private:
  template <class Word>
  const SortEntry<Word>& at(int64_t entry) const {
    return static_cast<const SortEntry<Word>*>(entries_)[entry];
  }

  const void* entries_ = nullptr;
  bool is_wide_ = false;
};

// Decodes every index into keys[]: its row, or the sentinel for positions that are skipped.
template <class Word, class Index>
inline void decode_indices(const EmbeddingBackwardPlan& plan, const Index* indices, Word* keys,
                           FaultCounter& faults) {
  constexpr Word kNoRow = std::numeric_limits<Word>::max();
  const int64_t chunks = cpu::chunks_for(plan.positions * static_cast<int64_t>(sizeof(Index) + sizeof(Word)));
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range range = cpu::chunk_range(plan.positions, chunks, chunk, 1024);
    FaultCounter::OfChunk own_faults(faults);
    RunCursor<1> cursor(plan.index_nest, range.begin);
    for (int64_t position = range.begin; position < range.end;) {
      const int64_t run = std::min(cursor.left_in_run(), range.end - position);
      const Index* const from = indices + cursor.offset(0);
      const int64_t stride = cursor.inner_stride(0);
      for (int64_t i = 0; i < run; ++i) {
        int64_t row = 0;
        const bool valid = index_value(from[i * stride], row) &&
                           static_cast<uint64_t>(row) < static_cast<uint64_t>(plan.table_rows);
        if (!valid) own_faults.add(position + i);
        keys[position + i] = valid && row != plan.padding_row ? static_cast<Word>(row) : kNoRow;
      }
      cursor.advance(run);
      position += run;
    }
  });
}

// One pass of the radix sort: read(i) returns entry i of `count`. Omits entries whose row is the sentinel.
// Returns the number of entries written.
template <class Word, class Read>
inline int64_t scatter_by_digit(const EmbeddingBackwardScratch& scratch, int64_t* histograms, int shift,
                                int64_t count, const Read& read, SortEntry<Word>* to) {
  constexpr Word kNoRow = std::numeric_limits<Word>::max();
  const int64_t digits = int64_t{1} << scratch.digit_bits;
  const Word mask = static_cast<Word>(digits - 1);
  cpu::parallel_for(scratch.blocks, [&](int64_t block) {
    int64_t* const histogram = histograms + block * digits;
    for (int64_t digit = 0; digit < digits; ++digit) histogram[digit] = 0;
    const cpu::Range range = cpu::chunk_range(count, scratch.blocks, block, 1);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const Word row = read(i).row;
      if (row != kNoRow) ++histogram[(row >> shift) & mask];
    }
  });
  // Digit by digit, and within a digit block by block: this order makes the sort stable.
  int64_t written = 0;
  for (int64_t digit = 0; digit < digits; ++digit) {
    for (int64_t block = 0; block < scratch.blocks; ++block) {
      int64_t& slot = histograms[block * digits + digit];
      const int64_t entries = slot;
      slot = written;
      written += entries;
    }
  }
  cpu::parallel_for(scratch.blocks, [&](int64_t block) {
    int64_t* const next = histograms + block * digits;
    const cpu::Range range = cpu::chunk_range(count, scratch.blocks, block, 1);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const SortEntry<Word> entry = read(i);
      if (entry.row != kNoRow) to[next[(entry.row >> shift) & mask]++] = entry;
    }
  });
  return written;
}

template <class Word>
inline SortedPositions sort_positions(const EmbeddingBackwardPlan& plan, const TaskIo& io) {
  const EmbeddingBackwardScratch& scratch = plan.scratch;
  const Word* const keys = workspace_part<Word>(io, scratch.keys);
  int64_t* const histograms = workspace_part<int64_t>(io, scratch.histograms);
  SortEntry<Word>* const buffers[2] = {workspace_part<SortEntry<Word>>(io, scratch.entries[0]),
                                       workspace_part<SortEntry<Word>>(io, scratch.entries[1])};
  // The first pass creates the entries from the keys.
  const auto read_key = [&](int64_t i) { return SortEntry<Word>{keys[i], static_cast<Word>(i)}; };
  const int64_t count = scatter_by_digit<Word>(scratch, histograms, 0, plan.positions, read_key, buffers[0]);
  int current = 0;
  for (int pass = 1; pass < scratch.passes; ++pass) {
    const SortEntry<Word>* const from = buffers[current];
    const auto read_entry = [&](int64_t i) { return from[i]; };
    current = 1 - current;
    (void)scatter_by_digit<Word>(scratch, histograms, pass * scratch.digit_bits, count, read_entry,
                                 buffers[current]);
  }
  return {buffers[current], count};
}

// Returns the first sorted entry whose row is at least `row`.
inline int64_t first_entry_of(const SortedPositions& sorted, int64_t row) {
  return first_where(0, sorted.count, [&](int64_t entry) { return sorted.row(entry) >= row; });
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
