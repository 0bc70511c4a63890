// Sums of tables of a few columns without a sort. Every row of the table keeps the state of its sum, and
// terms are added as they are read. Positions are visited in ascending order, so the order of additions is
// that of rows.h.
//
// A sort moves each position twice to avoid cache misses on rows of grad. Here a row of grad is smaller than
// the data moved.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/kernel_io.h"
#include "base/sum_order.h"
#include "base/workspace_part.h"
#include "cpu/simd.h"
#include "cpu/threads.h"
#include "ops/embedding_dense_backward/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// Word is uint32_t or uint64_t, wide enough for rows and positions.
template <class Word>
class DirectSums {
 public:
  DirectSums(const EmbeddingBackwardPlan& plan, const TaskIo& io)
      : terms_(workspace_part<Word>(io, plan.scratch.terms)),
        sums_(workspace_part<DirectSum>(io, plan.scratch.sums)),
        columns_(plan.columns) {}

  void clear(int64_t row) {
    terms_[row] = 0;
    for (int64_t c = 0; c < columns_; ++c) sums_[row * columns_ + c] = {};
  }

  template <class In>
  void add(int64_t row, const In* term, int64_t stride) {
    const Word terms = ++terms_[row];
    DirectSum* const sums = sums_ + row * columns_;
    for (int64_t c = 0; c < columns_; ++c) sums[c].block += to_float(term[c * stride]);
    if (terms % kBlockTerms == 0) close_block(sums, terms % kSuperblockTerms == 0);
  }

  int64_t terms(int64_t row) const { return static_cast<int64_t>(terms_[row]); }

  // Returns the fp32 sum of one column of a row after all terms are added. Adding a sum that has just
  // restarted at +0 changes nothing.
  float total(int64_t row, int64_t column) const {
    const DirectSum& sum = sums_[row * columns_ + column];
    return static_cast<float>(sum.total + static_cast<double>(sum.superblock + sum.block));
  }

 private:
  void close_block(DirectSum* sums, bool closes_superblock) {
    for (int64_t c = 0; c < columns_; ++c) {
      sums[c].superblock += sums[c].block;
      sums[c].block = 0;
      if (!closes_superblock) continue;
      sums[c].total += static_cast<double>(sums[c].superblock);
      sums[c].superblock = 0;
    }
  }

  Word* const terms_;
  DirectSum* const sums_;
  const int64_t columns_;
};

// Calls visit(position, row) for the positions whose row is in `rows`, in ascending order. The selection has
// no branches, because with several threads they would be unpredictable.
template <class Word, class Visit>
inline void for_each_position_of(const cpu::Range& rows, const Word* keys, int64_t positions,
                                 const Visit& visit) {
  constexpr int64_t kBlock = 1024;
  int64_t picked[kBlock];
  const Word first = static_cast<Word>(rows.begin);
  const Word count = static_cast<Word>(rows.end - rows.begin);
  for (int64_t begin = 0; begin < positions; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, positions);
    int64_t found = 0;
    for (int64_t i = begin; i < end; ++i) {
      picked[found] = i;
      found += static_cast<Word>(keys[i] - first) < count;  // false for the mark of positions without a row
    }
    for (int64_t k = 0; k < found; ++k) visit(picked[k], static_cast<int64_t>(keys[picked[k]]));
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
