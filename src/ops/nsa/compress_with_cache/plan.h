// NsaCompressWithCache: the plan that kernels of all devices read.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "ops/plan_items.h"

namespace openaclnn {

// A sequence whose last L tokens are to be compressed. Without pages, input is one page.
struct CompletedBlock {
  int64_t sequence;
  int64_t first_page;     // page of the sequence with the first of the L tokens
  int64_t first_in_page;  // position of that token in the page
};

enum CacheTensor { kCacheInput, kCacheWeight, kCacheSlots, kCacheTable, kCacheOutput, kCacheTensors };

// Followed by its completed blocks (plan_items).
struct CacheCompressionPlan {
  aclDataType dtype;
  bool is_paged;
  int64_t blocks;                         // completed
  int64_t slots, heads, columns;          // of outputCache
  int64_t block_size;                     // L
  int64_t pages, page_tokens;             // of input
  int64_t table_pages;                    // pages per sequence in blockTableOptional
  int64_t pages_of_block;                 // pages that the tokens of a block may span
  std::array<int64_t, 4> input_strides;   // page, token, head, column; elements, as all below
  std::array<int64_t, 3> output_strides;  // slot, head, column
  std::array<int64_t, 2> weight_strides, table_strides;
  int64_t slot_stride;
  std::array<int64_t, kCacheTensors> offsets;
  std::array<int, kCacheTensors> parameters;  // indices in the call; without pages outputCache is parameter 3
  // Parts of the workspace.
  int64_t block_pages;  // int32[blocks, pages_of_block]: checked pages from the table
  int64_t weights;      // on a CPU: float[L, N], the widened weights
  int64_t jobs;         // on a CPU: CacheJob[blocks]
  int64_t completed;    // on a GPU: CompletedBlock[blocks]
  int64_t block_slots;  // on a GPU: int64[blocks], the slot of each; -1: none
  int64_t claims;       // on a GPU: unsigned long long[claim_count], the blocks of slots
  int64_t claim_count;  // a power of two
};

// A completed block to compress, with its checked slot.
struct CacheJob {
  int64_t slot, block;
};

// Fault::kind: which value is out of range.
enum CacheFaultKind { kSlotOutOfRange, kPageOutOfRange };

}  // namespace openaclnn
