// Long sums that several threads share: each sums whole superblocks of terms, and then the sums of superblocks
// are added. The order of additions is that of cpu/rows.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/sum_order.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The sums of superblocks of long sums, in a workspace.
struct SuperblockSums {
  float* sums;      // [superblock_slots(terms of all sums), columns]
  int64_t columns;  // of a row

  float* of(int64_t begin, int64_t end) const { return sums + superblock_slot(begin, end) * columns; }

  // Adds the superblock sums of `width` columns from `first` on of the long sum of terms [begin, end), in double
  // from left to right.
  template <class Out>
  void join(cpu::Range terms, int64_t first, int64_t width, const SumTarget<Out>& target,
            int64_t out_stride) const {
    RowAccumulators& accumulators = cpu::scratch_as<RowAccumulators>();
    double* const total = accumulators.total;
    for (int64_t c = 0; c < width; ++c) total[c] = 0;
    for (int64_t begin = terms.begin; begin < terms.end; begin += kSuperblockTerms) {
      const float* const from = of(begin, std::min(begin + kSuperblockTerms, terms.end)) + first;
      for (int64_t c = 0; c < width; ++c) total[c] += static_cast<double>(from[c]);
    }
    float* const rounded = accumulators.superblock;
    for (int64_t c = 0; c < width; ++c) rounded[c] = static_cast<float>(total[c]);
    write_pairs<float>(width, target, out_stride,
                       [&](int64_t, int64_t column) { return load<F32x2>(rounded + column); });
  }
};

// Calls join(k, first column, columns) for pieces of the columns of `count` long sums, on all threads.
template <class Join>
void for_each_long_sum(int64_t count, int64_t columns, const Join& join) {
  constexpr int64_t kColumns = 512;
  const int64_t pieces = ceil_div(columns, kColumns);
  cpu::parallel_for(count * pieces, [&](int64_t item) {
    const int64_t first = item % pieces * kColumns;
    join(item / pieces, first, std::min(columns - first, kColumns));
  });
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
