// NsaCompressWithCache: what its kernels read, on every device.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "ops/plan_items.h"

namespace openaclnn {

// A sequence whose last L tokens are to be compressed. Without pages all of input is one page.
struct CompletedBlock {
  int64_t sequence;
  int64_t first_page;     // of the sequence: where the first of the L tokens lies
  int64_t first_in_page;  // that token in it
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
  int64_t table_pages;                    // that blockTableOptional has for a sequence
  int64_t pages_of_block;                 // that the tokens of a block may lie in
  std::array<int64_t, 4> input_strides;   // page, token, head, column; elements, as all below
  std::array<int64_t, 3> output_strides;  // slot, head, column
  std::array<int64_t, 2> weight_strides, table_strides;
  int64_t slot_stride;
  std::array<int64_t, kCacheTensors> offsets;
  std::array<int, kCacheTensors> parameters;  // of the call; without pages outputCache is parameter 3
  // Parts of the workspace.
  int64_t block_pages;  // int32[blocks, pages_of_block]: the pages that the table was found to name
  int64_t weights;      // on a CPU: float[L, N], the weights, widened
  int64_t jobs;         // on a CPU: CacheJob[blocks]
  int64_t completed;    // on a GPU: CompletedBlock[blocks]
  int64_t block_slots;  // on a GPU: int64[blocks], where each goes; -1: nowhere
  int64_t claims;       // on a GPU: unsigned long long[claim_count], which block has which slot
  int64_t claim_count;  // a power of two
};

// A completed block that is compressed, with the slot it was found to have.
struct CacheJob {
  int64_t slot, block;
};

// Fault::kind: what is out of range, and in strict mode kNothingWritten on top.
enum CacheFaultKind { kSlotOutOfRange = 0, kPageOutOfRange = 1, kNothingWritten = 2 };

}  // namespace openaclnn
