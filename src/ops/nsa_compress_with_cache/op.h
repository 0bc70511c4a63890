// NsaCompressWithCache: arguments and plan of the compression of the newest tokens of sequences into the slots of a cache.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/dispatch.h"
#include "ops/nsa_windows.h"

namespace openaclnn {

struct CacheCompressionArgs {
  Argument input;         // [T, N, D], or with pages [pages, tokens of a page, N, D]
  Argument weight;        // [L, N]
  Argument slot_mapping;  // [B]
  IntArray lengths;       // of the sequences
  Argument block_table;   // optional: [B, pages of a sequence]
  const char* layout;
  int64_t block_size, stride, length_type, page_block_size;
  Argument output_cache;  // [slots, N, D]

  bool is_paged() const { return block_table.is_given; }
};

// A sequence whose last L tokens are to be compressed.
struct CompletedBlock {
  int64_t sequence;
  int64_t first_token;  // of the L: of the sequence with pages, else of input
};

// Parameters of the call, in the order of the signature; without pages outputCache is parameter 3.
struct CacheCompressionParameters {
  int input, weight, slot_mapping, block_table, output_cache;
};

// Followed by its completed blocks (plan_items).
struct CacheCompressionPlan {
  aclDataType dtype;
  bool is_paged;
  int64_t sequences, blocks;              // B, and how many of them are completed
  int64_t slots, heads, columns;          // of outputCache
  int64_t block_size;                     // L
  int64_t pages, page_tokens;             // of input; without pages it is one page
  int64_t pages_of_block;                 // that the tokens of a block may lie in
  std::array<int64_t, 4> input_strides;   // page, token, head, column; elements, as all below
  std::array<int64_t, 3> output_strides;  // slot, head, column
  std::array<int64_t, 2> weight_strides, table_strides;
  int64_t slot_stride;
  CacheCompressionParameters parameters;
  int64_t input_offset, weight_offset, slot_offset, table_offset, output_offset;
  // Parts of the workspace.
  int64_t weights;      // float[L, N]: widened
  int64_t jobs;         // CacheJob[blocks]
  int64_t block_pages;  // int64[blocks, pages_of_block]: checked copies of the table's entries
};

// A completed block that is compressed, with the slot it was found to have.
struct CacheJob {
  int64_t slot, block;
};

// Fault::kind.
enum CacheFaultKind { kSlotOutOfRange, kPageOutOfRange };

Status check(const CacheCompressionArgs& args);
Result<Call> plan(const CacheCompressionArgs& args);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_nsa_compress_with_cache)
