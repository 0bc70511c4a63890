// The golden of NsaCompressWithCache: the exact weighted sums of the slots that a call writes, and the values of all others.
#pragma once

#include <string>
#include <vector>

#include "ops/nsa/compress_with_cache/verify/oracle.h"
#include "ops/nsa/verify/golden_windows.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

// Where the tokens of the last block of each sequence are.
class CachedBlocks {
 public:
  CachedBlocks(const CacheAttributes& a, const GivenTensors& given, int64_t slots)
      : a_(a), sequence_of_slot_(static_cast<size_t>(slots), -1) {
    constexpr aclDataType kInt32[] = {ACL_INT32};
    const Array& mapping = given.read("slotMapping", kInt32);
    require_dims("slotMapping", mapping, {static_cast<int64_t>(a.lengths.size())});
    if (a.is_paged()) {
      table_ = &given.read("blockTableOptional", kInt32);
      require_rank("blockTableOptional", *table_, 2);
      require_dims("blockTableOptional", *table_, {mapping.dims[0], table_->dims[1]});
    }
    require_lengths(given.shape_of("input"));
    pages_ = given.shape_of("input").dims[0];
    int64_t begin = 0;
    for (size_t b = 0; b < a.lengths.size(); begin += a.lengths[b++]) {
      begins_.push_back(a.is_paged() ? 0 : begin);
      const auto sequence = static_cast<int64_t>(b);
      if (!a.completes(a.lengths[b])) continue;
      const int64_t slot = integer_at(mapping, sequence);
      // The block of the last sequence with this slot counts. Blocks with a wrong slot or page are skipped.
      if (slot >= 0 && slot < slots && has_pages(sequence))
        sequence_of_slot_[static_cast<size_t>(slot)] = sequence;
    }
  }

  bool writes(int64_t slot) const { return sequence_of_slot_[static_cast<size_t>(slot)] >= 0; }
  // Returns the row of a token of the slot's block.
  int64_t row(int64_t slot, int64_t number) const {
    const int64_t sequence = sequence_of_slot_[static_cast<size_t>(slot)];
    const auto b = static_cast<size_t>(sequence);
    const int64_t token = a_.lengths[b] - a_.block_size + number;
    if (!a_.is_paged()) return begins_[b] + token;
    return page_of(sequence, token / a_.page_tokens) * a_.page_tokens + token % a_.page_tokens;
  }

 private:
  int64_t page_of(int64_t sequence, int64_t place) const {
    return integer_at(*table_, sequence * table_->dims[1] + place);
  }
  bool has_pages(int64_t sequence) const {
    if (!a_.is_paged()) return true;
    const int64_t length = a_.lengths[static_cast<size_t>(sequence)];
    for (int64_t place = (length - a_.block_size) / a_.page_tokens; place <= (length - 1) / a_.page_tokens;
         ++place) {
      const int64_t page = page_of(sequence, place);
      if (page < 0 || page >= pages_) return false;
    }
    return true;
  }
  void require_lengths(const Array& input) const {
    if (!a_.is_paged()) {
      require_sequences("actSeqLenOptional", {a_.lengths, false, input.dims[0]});
      return;
    }
    for (size_t b = 0; b < a_.lengths.size(); ++b) {
      const int64_t length = a_.lengths[b];
      const int64_t pages = length / a_.page_tokens + (length % a_.page_tokens != 0 ? 1 : 0);
      if (length >= 0 && pages <= table_->dims[1]) continue;
      reject("actSeqLenOptional[" + std::to_string(b) + "] is " + std::to_string(length) +
             "; it must be at least 0 and fit in the pages of blockTableOptional");
    }
  }

  const CacheAttributes& a_;
  const Array* table_ = nullptr;
  int64_t pages_ = 0;
  std::vector<int64_t> begins_, sequence_of_slot_;
};

inline Golden nsa_compress_with_cache_golden(const GoldenCall& call) {
  constexpr const char* kNames[] = {"input", "weight", "slotMapping", "blockTableOptional", "outputCache"};
  const GivenTensors given(call, kNames);
  const Array &input = given.read("input", kFloatDtypes), &weight = given.read("weight", kFloatDtypes),
              &cache = given.read("outputCache", kFloatDtypes);
  const openaclnn::WindowShape shape = window_shape(call.arguments, weight);
  if (given.has("blockTableOptional") && integer_of(call.arguments, "pageBlockSize") < 1)
    reject("pageBlockSize must be at least 1 with blockTableOptional");
  if (integer_of(call.arguments, "actSeqLenType", 1) != 1) reject("actSeqLenType must be 1");
  const CacheAttributes a = recorded_cache_attributes(call.arguments);
  require_rank("input", input, a.is_paged() ? 4 : 3);
  require_rank("outputCache", cache, 3);
  const int64_t heads = input.dims[input.dims.size() - 2], columns = input.dims.back();
  if (a.is_paged()) require_dims("input", input, {input.dims[0], a.page_tokens, heads, columns});
  require_dims("weight", weight, {shape.block, heads});
  require_dims("outputCache", cache, {cache.dims[0], heads, columns});
  const CachedBlocks blocks(a, given, cache.dims[0]);

  GoldenOutput output = new_output("outputCache", cache);
  const auto c = static_cast<double>(roundings_of_compressed(a.block_size));
  RowSums sums;
  sums.values = &input;
  sums.columns = heads * columns;
  sums.weights = &weight;
  sums.heads = heads;
  sums.groups = cache.dims[0];
  sums.count = [&](int64_t slot) { return blocks.writes(slot) ? a.block_size : 0; };
  sums.terms = [&](int64_t slot, int64_t first, std::span<RowTerm> to) {
    for (RowTerm& term : to) {
      term = {blocks.row(slot, first), first};
      ++first;
    }
  };
  sums.finish = [&](int64_t slot, int64_t first_column, const SumTile& tile) {
    const int64_t first = slot * sums.columns + first_column;
    if (blocks.writes(slot)) return write_sums(tile, c, output, first);
    cache.widen(
        first,
        std::span(output.exact).subspan(static_cast<size_t>(first), static_cast<size_t>(tile.columns)));
  };
  sum_rows(sums, call.threads);
  return golden_with(std::move(output));
}

}  // namespace openaclnn_verify
