// GroupedBiasAddGrad: the plan that kernels of all devices read.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

// The meaning of the numbers in groupIdx.
enum GroupIndexType : int64_t { kGroupEnds = 0, kGroupSizes = 1 };

enum GroupedBiasTensor { kGroupedGradY, kGroupedIndex, kGroupedOut, kGroupedBiasTensors };

inline constexpr int64_t kListedSuperblockBytes = 32;

// Offsets of the parts of the workspace (WorkspaceLayout). Their sizes depend only on shapes.
struct GroupedBiasScratch {
  int64_t ends;             // int64[G]: e(j), checked, if groupIdx is given
  int64_t faults;           // int64, on a GPU: number of faulty entries, if groupIdx is given
  int64_t long_groups;      // int64[rows / kSuperblockTerms], on a CPU: groups of more than one superblock
  int64_t superblock_sums;  // float[superblock_slots, H]
  int64_t arrivals;         // unsigned, on a GPU: counters of complete superblocks (cuda/rows.cuh)
  int64_t superblock_slots;
  int64_t superblocks;  // on a GPU: a SuperblockList (cuda/row_units.cuh) of so many entries, and its counts
  int64_t listed_superblocks;
  int64_t unit_counts;
};

struct GroupedBiasPlan {
  aclDataType dtype, index_dtype;
  bool has_group_index;
  GroupIndexType group_index_type;
  int64_t groups;          // G
  int64_t columns;         // H
  int64_t rows;            // R, or G * C
  int64_t rows_per_group;  // C, without groupIdx
  // In elements. Without groupIdx group j starts at j * group_stride, otherwise at its first row.
  int64_t index_stride, group_stride, row_stride, column_stride, out_row_stride, out_column_stride;
  LoopNest<1> out_nest;                              // all of out
  std::array<int, kGroupedBiasTensors> parameters;   // in the call; without groupIdx out is parameter 1
  std::array<int64_t, kGroupedBiasTensors> offsets;  // elements
  GroupedBiasScratch scratch;
};

// Fault::kind. kRowsLeft is a fault only in strict mode.
enum GroupedBiasFaultKind { kEntryNegative, kEntryDecreases, kEndBeyondRows, kSizesBeyondRows, kRowsLeft };

}  // namespace openaclnn
