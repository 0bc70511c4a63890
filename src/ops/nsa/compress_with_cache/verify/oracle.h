// The attributes of NsaCompressWithCache and two references, based on its header: the exact sums with their
// error bounds, and the prescribed order of single roundings, one element of the cache at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/nsa/verify/sums.h"
#include "verify/case.h"

namespace openaclnn_verify {

struct CacheAttributes {
  int64_t block_size = 0;        // L
  int64_t stride = 0;            // d
  std::vector<int64_t> lengths;  // of the sequences
  int64_t page_tokens = 0;       // 0: input has no pages

  bool is_paged() const { return page_tokens > 0; }
  bool completes(int64_t length) const { return length >= block_size && (length - block_size) % stride == 0; }
};

inline CacheAttributes recorded_cache_attributes(const RecordedCall& call) {
  CacheAttributes a = {call.integers.at("compressBlockSize"), call.integers.at("compressStride"), {}, 0};
  if (const auto given = call.arrays.find("actSeqLenOptional"); given != call.arrays.end())
    a.lengths = given->second;
  if (call.tensors.contains("blockTableOptional")) a.page_tokens = call.integers.at("pageBlockSize");
  return a;
}

// Tensors in the order of the signature. The cache is last, with or without a table before it.
enum CacheTensor { kCacheInput, kCacheWeight, kCacheSlots, kCacheTable };

// The required effect of a call on a cache.
struct CachePlan {
  // The rows of input for each slot; empty: the slot keeps its values.
  std::vector<std::vector<int64_t>> tokens;
  std::string fault;                   // start of the first fault's error message; empty: none
  int64_t skipped = 0, completed = 0;  // blocks
};

// Returns the start of a fault's error message; `position` is in row-major order.
inline std::string entry_text(const char* tensor, int64_t position, int64_t value, int64_t limit) {
  return std::string(tensor) + "[" + std::to_string(position) + "] = " + std::to_string(value) +
         " is outside [0, " + std::to_string(limit) + ")";
}

inline CachePlan plan_of_cache(const CacheAttributes& a, const std::vector<HostTensor>& tensors) {
  const auto number = [](const HostTensor& tensor, int64_t i) {
    return static_cast<int32_t>(tensor.bits(i));
  };
  const int64_t slots = tensors.back().dims()[0], pages = tensors[kCacheInput].dims()[0];
  CachePlan plan;
  plan.tokens.resize(static_cast<size_t>(slots));
  int64_t start = 0;
  for (size_t b = 0; b < a.lengths.size(); start += a.lengths[b++]) {
    if (!a.completes(a.lengths[b])) continue;
    ++plan.completed;
    const auto b_number = static_cast<int64_t>(b);
    const int64_t slot = number(tensors[kCacheSlots], b_number);
    std::string fault = slot < 0 || slot >= slots ? entry_text("slotMapping", b_number, slot, slots) : "";
    std::vector<int64_t> rows;
    for (int64_t t = a.lengths[b] - a.block_size; t < a.lengths[b] && fault.empty(); ++t) {
      if (!a.is_paged()) {
        rows.push_back(start + t);
        continue;
      }
      const HostTensor& table = tensors[kCacheTable];
      const int64_t entry = b_number * table.dims()[1] + t / a.page_tokens;
      const int64_t page = number(table, entry);
      if (page < 0 || page >= pages) fault = entry_text("blockTableOptional", entry, page, pages);
      rows.push_back(page * a.page_tokens + t % a.page_tokens);
    }
    if (fault.empty()) {
      plan.tokens[static_cast<size_t>(slot)] = rows;
    } else if (plan.skipped++ == 0) {
      plan.fault = fault;
    }
  }
  return plan;
}

// Calls visit(element of the cache, factors of its terms, or none) for every element, in row-major order.
template <class Visit>
void for_each_cached(const CachePlan& plan, const std::vector<HostTensor>& tensors, const Visit& visit) {
  const int64_t heads = tensors.back().dims()[1], columns = tensors.back().dims()[2];
  const HostTensor &input = tensors[kCacheInput], &weight = tensors[kCacheWeight];
  int64_t element = 0;
  for (const std::vector<int64_t>& rows : plan.tokens) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t e = 0; e < columns; ++e) {
        std::vector<WeightedTerm> terms;
        for (size_t i = 0; i < rows.size(); ++i) {
          terms.push_back({static_cast<float>(weight.get(static_cast<int64_t>(i) * heads + n)),
                           static_cast<float>(input.get((rows[i] * heads + n) * columns + e))});
        }
        visit(element++, terms);
      }
    }
  }
}

inline JudgeResults cache_judge(const CacheAttributes& a) {
  return [a](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    const HostTensor& cache = after.back();
    OutputRecord& record = judge.output("NsaCompressWithCache outputCache", cache.dtype());
    const long double c = roundings_of_compressed(a.block_size);
    for_each_cached(plan_of_cache(a, before), before, [&](int64_t i, const std::vector<WeightedTerm>& terms) {
      if (terms.empty()) return record.expect_bits(cache.bits(i), before.back().bits(i));
      const ExactSum exact = exact_sum(terms);
      record.compare(cache.get(i), exact.value, c, exact.magnitude);
    });
  };
}

}  // namespace openaclnn_verify
