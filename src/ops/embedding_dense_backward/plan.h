// EmbeddingDenseBackward: the plan that kernels of all devices read.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

// Parameters of the call, in the order of the signature.
enum EmbeddingBackwardParameter { kGradRows, kGradIndices, kGradTable, kGradParameters };

// The state of one sum in the order of additions of base/sum_order.h.
struct DirectSum {
  double total;
  float superblock, block;
};

// Tables of up to this many columns whose sums all fit in the caches are summed in the order of positions,
// without a sort.
inline constexpr int64_t kMostDirectColumns = 4;
inline constexpr int64_t kMostDirectBytes = int64_t{4} << 20;

// Offsets of the parts of the workspace (WorkspaceLayout). Their sizes depend only on shapes, so the
// workspace is the same for any number of threads.
struct EmbeddingBackwardScratch {
  bool wide;       // 64-bit sort words: a table or a list of indices of at least 2^32 - 1
  int64_t blocks;  // stretches of positions that are counted and scattered independently
  int digit_bits;  // per pass of the radix sort
  int passes;
  int64_t keys;             // Word[N]: the row of each position, or the sentinel
  int64_t entries[2];       // Entry[N] each; the second exists if there is more than one pass
  int64_t histograms;       // int64[blocks][digits]
  int64_t hot_rows;         // int64[kMostHotRows]
  int64_t superblock_sums;  // float[superblock_slots(N)][D], of hot rows
  bool direct;              // if set, the following replace all parts but the keys:
  int64_t terms;            // Word[V]
  int64_t sums;             // DirectSum[V][D]
};

inline constexpr int64_t kMostHotRows = 1024;

inline constexpr int64_t kRowsOfWord = 32;

// The same for a GPU.
struct EmbeddingBackwardGpuScratch {
  bool wide;                // 64-bit sort words: a table or a list of indices of at least 2^32 - 1
  int64_t keys[2];          // Word[N] each: the row of each position, or the number of rows
  int64_t positions[2];     // Word[N] each
  int64_t sort;             // bytes
  int64_t counters;         // number of the words that are zero at first:
  int64_t used;             // uint32[ceil(V / kRowsOfWord)]: bits of the rows that have terms; then the
                            // counters of complete superblocks (cuda/rows.cuh)
  int64_t ends;             // int64[N]: number of terms up to the end of each sorted position's group
  int64_t rows;             // int64[N]: locations of the terms
  int64_t out_rows;         // int64[N]: rows of the table
  int64_t superblock_sums;  // float[superblock_slots(N)][D]
  int64_t scans;            // faults that blocks found
  int64_t faults;           // int64: number of faulty indices
};

struct EmbeddingBackwardPlan {
  aclDataType grad_dtype, index_dtype, out_dtype;
  int64_t positions;    // N
  int64_t columns;      // D
  int64_t table_rows;   // V
  int64_t padding_row;  // -1: none
  bool scale_by_frequency;
  LoopNest<1> index_nest;                                         // the indices in row-major order
  LoopNest<1> grad_row_nest;                                      // the rows of grad in row-major order
  LoopNest<1> out_nest;                                           // the table
  int64_t grad_column_stride, out_row_stride, out_column_stride;  // elements
  int64_t offsets[kGradParameters];                               // elements
  EmbeddingBackwardScratch scratch;
  EmbeddingBackwardGpuScratch gpu_scratch;  // only one of the two is used
};

}  // namespace openaclnn
