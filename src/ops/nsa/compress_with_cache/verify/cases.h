// NsaCompressWithCache as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "ops/nsa/compress_with_cache/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/random.h"

namespace openaclnn_verify {

inline Phase1 cache_phase1(const CacheAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    aclIntArray* const lengths = aclCreateIntArray(a.lengths.data(), a.lengths.size());
    char layout[] = "TND";
    const aclnnStatus status = aclnnNsaCompressWithCacheGetWorkspaceSize(
        t[kCacheInput], t[kCacheWeight], t[kCacheSlots], lengths, a.is_paged() ? t[kCacheTable] : nullptr,
        layout, a.block_size, a.stride, 1, a.page_tokens, t.back(), workspace_bytes, executor);
    aclDestroyIntArray(lengths);
    return status;
  };
}

struct CacheShape {
  int64_t heads = 1, columns = 1;
  int64_t spare = 3;         // slots and pages that no sequence needs
  int64_t common_slots = 0;  // number of slots that all sequences share in turn; 0: one for each
};

// Returns numbers below `limit`, all different if there are enough.
inline std::vector<int64_t> shuffled_numbers(int64_t count, int64_t limit, uint64_t seed) {
  std::vector<int64_t> numbers(static_cast<size_t>(limit));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  Random random(seed);
  for (size_t k = numbers.size(); k > 1; --k)
    std::swap(numbers[k - 1], numbers[static_cast<size_t>(random.below(static_cast<int64_t>(k)))]);
  std::vector<int64_t> chosen;
  for (int64_t k = 0; k < count; ++k) chosen.push_back(numbers[static_cast<size_t>(k % limit)]);
  return chosen;
}

inline Case cache_case(aclDataType dtype, const CacheShape& shape, const CacheAttributes& a, Layout layout,
                       const std::string& name) {
  const auto sequences = static_cast<int64_t>(a.lengths.size());
  const int64_t longest = sequences > 0 ? *std::max_element(a.lengths.begin(), a.lengths.end()) : 0;
  const int64_t table_pages = a.is_paged() ? longest / a.page_tokens + 1 : 0;
  const int64_t pages = std::max<int64_t>(sequences * table_pages, 1) + shape.spare;
  const int64_t tokens = std::accumulate(a.lengths.begin(), a.lengths.end(), shape.spare);
  const int64_t slots = std::max<int64_t>(sequences, 1) + shape.spare;
  const Shape input_dims = a.is_paged() ? Shape{pages, a.page_tokens, shape.heads, shape.columns}
                                        : Shape{tokens, shape.heads, shape.columns};
  Case made;
  made.name = "NsaCompressWithCache " + name;
  const auto numbers = [&](const char* tensor, const Shape& dims, int64_t limit) {
    TensorCase numbered = {tensor, ACL_INT32, dims, Role::input, Values::listed, 0, 0, layout};
    numbered.listed = shuffled_numbers(count_elements(dims), limit, hash_text(tensor));
    made.tensors.push_back(numbered);
  };
  made.tensors.push_back({"input", dtype, input_dims, Role::input, Values::symmetric, -8, 2, layout});
  made.tensors.push_back(
      {"weight", dtype, {a.block_size, shape.heads}, Role::input, Values::symmetric, -4, 0, layout});
  numbers("slotMapping", {sequences}, shape.common_slots > 0 ? shape.common_slots : slots);
  if (a.is_paged()) numbers("blockTableOptional", {sequences, table_pages}, pages);
  made.tensors.push_back({"outputCache",
                          dtype,
                          {slots, shape.heads, shape.columns},
                          Role::reference,
                          Values::symmetric,
                          -4,
                          2,
                          layout});
  made.phase1 = cache_phase1(a);
  made.phase2 = aclnnNsaCompressWithCache;
  const int64_t blocks =
      std::count_if(a.lengths.begin(), a.lengths.end(), [&](int64_t length) { return a.completes(length); });
  made.minimal_bytes =
      (blocks * (a.block_size + 1) * shape.columns + a.block_size) * shape.heads * element_bytes(dtype);
  made.judge = cache_judge(a);
  made.attributes.integers = {{"compressBlockSize", a.block_size},
                              {"compressStride", a.stride},
                              {"actSeqLenType", 1},
                              {"pageBlockSize", a.page_tokens}};
  made.attributes.arrays = {{"actSeqLenOptional", a.lengths}};
  return made;
}

// Returns `count` sequences, most of which complete a block of L tokens every d tokens.
inline std::vector<int64_t> sequence_lengths(int64_t count, int64_t block_size, int64_t stride) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < count; ++b)
    lengths.push_back(b % 7 == 5 ? b : block_size + b % 4 * stride + (b % 5 == 4 ? 1 : 0));
  return lengths;
}

inline std::vector<Case> nsa_compress_with_cache_cases() {
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    const auto add = [&](const char* what, const CacheShape& shape, int64_t sequences, int64_t block_size,
                         int64_t stride, int64_t page_tokens, Layout layout = Layout::contiguous) {
      const CacheAttributes a = {block_size, stride, sequence_lengths(sequences, block_size, stride),
                                 page_tokens};
      cases.push_back(cache_case(dtype, shape, a, layout, std::string(dtype_name(dtype)) + " " + what));
    };
    add("pages", {2, 128}, 8, 32, 16, 64);
    add("packed", {4, 128}, 12, 32, 16, 0);
    add("blocks over many small pages", {3, 80}, 30, 24, 10, 5);
    add("long blocks", {2, 65}, 5, 600, 70, 64);
    add("wide heads", {2, 1037}, 3, 16, 16, 16);
    add("heads in tiles", {45, 200}, 3, 10, 3, 8);
    add("one head in tiles", {1, 9000}, 2, 7, 3, 4);
    add("narrow heads", {131, 3}, 25, 9, 4, 7);
    add("blocks of one token", {5, 33}, 50, 1, 1, 4);
    add("many blocks in few slots", {3, 40, 3, 2}, 60, 8, 4, 5);
    add("all blocks in one slot, packed", {2, 130, 3, 1}, 25, 16, 16, 0);
    add("padded rows", {6, 50}, 20, 12, 6, 10, Layout::padded);
    add("rotated views, negative strides", {7, 40}, 15, 70, 4, 16, Layout::mixed);
    add("packed, rotated views, negative strides", {7, 40}, 15, 20, 4, 0, Layout::mixed);
  }
  for (const aclDataType dtype : kUnderflowDtypes) {
    const CacheAttributes a = {2, 1, sequence_lengths(30, 2, 1), 16};
    const std::string name = std::string(dtype_name(dtype)) + " products underflow";
    cases.push_back(with_underflow(cache_case(dtype, {3, 40}, a, Layout::contiguous, name)));
  }
  return cases;
}

// Makes a random case with at most about `elements` elements and at least one completed block.
inline Case nsa_compress_with_cache_random_case(Draw& draw, int64_t elements) {
  const aclDataType dtype = draw.pick(kFloatDtypes);
  CacheAttributes a;
  a.block_size = draw.between(1, std::min<int64_t>(elements / 16 + 1, 80));
  a.stride = draw.between(1, a.block_size + 2);
  a.page_tokens = draw.below(20);
  const int64_t sequences = draw.between(1, 5);
  for (int64_t b = 1; b < sequences; ++b) {
    const int64_t length = a.block_size + draw.below(3) * a.stride;
    a.lengths.push_back(draw.chance(4) ? draw.below(length) : length);
  }
  a.lengths.push_back(a.block_size);
  CacheShape shape;
  shape.heads = draw.between(1, 4);
  const int64_t rows = sequences * (a.block_size + 2 * a.stride + 20);
  shape.columns = draw.between(1, std::max<int64_t>(1, elements / (rows * shape.heads)));
  shape.spare = draw.below(4);
  const Layout layout = draw.layout();
  return cache_case(dtype, shape, a, layout, std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, most of them short sums, some long.
inline std::vector<Case> nsa_compress_with_cache_numerics_cases(int64_t elements) {
  struct Sums {
    const char* name;
    int64_t block_size, sequences;
    CacheShape shape;
    double share;  // of the elements
  };
  const Sums sums[] = {{"blocks of 3", 3, 1000, {5, 60, 0}, 1},
                       {"blocks of 65", 65, 20, {5, 31, 0}, .003},
                       {"blocks of 513", 513, 7, {3, 13, 0}, .0001},
                       {"blocks of 20000", 20000, 1, {1, 3, 0}, 1e-6}};
  const auto results = [](const Sums& s) { return s.sequences * s.shape.heads * s.shape.columns; };
  const auto make = [](aclDataType dtype, const Sums& s, const std::string& name) {
    const std::vector<int64_t> lengths(static_cast<size_t>(s.sequences), s.block_size);
    return cache_case(dtype, s.shape, {s.block_size, 1, lengths, 0}, Layout::contiguous, name);
  };
  return sum_cases(sums, elements, results, make, {kCacheInput, kCacheWeight});
}

// The judge of a recorded call.
inline JudgeResults nsa_compress_with_cache_recorded_judge(const RecordedCall& call) {
  return cache_judge(recorded_cache_attributes(call));
}

}  // namespace openaclnn_verify
