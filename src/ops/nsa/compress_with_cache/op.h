// NsaCompressWithCache: arguments and plan of compressing the newest tokens of sequences into the slots of a
// cache.
#pragma once

#include <cstdint>

#include "ops/nsa/compress_with_cache/plan.h"
#include "ops/nsa/windows.h"

namespace openaclnn {

struct CacheCompressionArgs {
  Argument input;         // [T, N, D], or with pages [pages, tokens of a page, N, D]
  Argument weight;        // [L, N]
  Argument slot_mapping;  // [B]
  ArrayArgument lengths;  // of the sequences
  Argument block_table;   // optional: [B, pages of a sequence]
  TextArgument layout;
  int64_t block_size, stride, length_type, page_block_size;
  Argument output_cache;  // [slots, N, D]

  bool is_paged() const { return block_table.is_given; }
};

Status check(const CacheCompressionArgs& args, const PlanContext& context);
Result<Call> plan(const CacheCompressionArgs& args, const PlanContext& context);

}  // namespace openaclnn
