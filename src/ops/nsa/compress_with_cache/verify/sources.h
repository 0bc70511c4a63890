// The tokens and weights that a call writes into each slot of the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/nsa/compress_with_cache/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

// How a kernel reads its inputs; faults change it.
struct CacheReading {
  CacheAttributes attributes;
  int64_t heads = 0, columns = 0, slots = 0, pages = 0;
  int64_t moved_tokens = 0;  // each window begins so many tokens later
  bool reverses_weights = false;
  bool ignores_pages = false;         // reads the tokens of a sequence as if its pages were in order
  bool ignores_completeness = false;  // writes a window for every sequence
  std::vector<int64_t> slot_of;       // of each sequence
};

inline CacheReading cache_reading(const GoldenCall& call) {
  CacheReading r;
  r.attributes = recorded_cache_attributes(call.arguments);
  const Array& cache = call.tensors.back();
  r.slots = cache.dims[0];
  r.heads = cache.dims[1];
  r.columns = cache.dims[2];
  r.pages = call.tensors[kCacheInput].dims[0];
  for (size_t b = 0; b < r.attributes.lengths.size(); ++b)
    r.slot_of.push_back(whole_number_at(call.tensors[kCacheSlots], static_cast<int64_t>(b)));
  return r;
}

// The rows of input that sequence b adds up; empty: it writes nothing.
inline std::vector<int64_t> cached_rows(const GoldenCall& call, const CacheReading& r, size_t b) {
  const CacheAttributes& a = r.attributes;
  const int64_t length = a.lengths[b];
  if (length < a.block_size || (!r.ignores_completeness && !a.completes(length))) return {};
  int64_t start = 0;
  for (size_t before = 0; before < b; ++before) start += a.lengths[before];
  const int64_t rows = a.is_paged() ? r.pages * a.page_tokens : r.pages;
  std::vector<int64_t> found;
  for (int64_t i = 0; i < a.block_size; ++i) {
    const int64_t t = length - a.block_size + r.moved_tokens + i;
    int64_t row = start + t;
    if (a.is_paged()) {
      const Array& table = call.tensors[kCacheTable];
      const int64_t column = t / a.page_tokens, first = static_cast<int64_t>(b) * table.dims[1];
      if (t < 0 || column >= table.dims[1]) return {};
      const int64_t page =
          r.ignores_pages ? whole_number_at(table, first) + column : whole_number_at(table, first + column);
      row = page * a.page_tokens + t % a.page_tokens;
    }
    if (row < 0 || row >= rows) return {};
    found.push_back(row);
  }
  return found;
}

inline FindSources cache_sources(const GoldenCall& call, CacheReading reading) {
  const auto shared = std::make_shared<const CacheReading>(std::move(reading));
  return [&call, shared](const Place& place) {
    const CacheReading& r = *shared;
    const Array &cache = call.tensors.back(), &input = call.tensors[kCacheInput],
                &weight = call.tensors[kCacheWeight];
    const int64_t row = place.element / r.columns, column = place.element % r.columns;
    const int64_t slot = row / r.heads, head = row % r.heads;
    ElementSources found;
    size_t writer = r.slot_of.size();
    for (size_t b = 0; b < r.slot_of.size(); ++b) {
      if (r.slot_of[b] == slot && !cached_rows(call, r, b).empty()) writer = b;
    }
    if (writer == r.slot_of.size()) {
      found.lines.push_back(
          source_line("outputCache" + index_text(place.element, cache.dims) + " before the call", 1,
                      [&](int64_t) { return cache.get(place.element); }));
      return found;
    }
    const std::vector<int64_t> rows = cached_rows(call, r, writer);
    const auto count = static_cast<int64_t>(rows.size());
    const auto token = [&](int64_t k) {
      return input.get((rows[static_cast<size_t>(k)] * r.heads + head) * r.columns + column);
    };
    const auto weight_of = [&](int64_t k) {
      return weight.get((r.reverses_weights ? count - 1 - k : k) * r.heads + head);
    };
    const int64_t end = r.attributes.lengths[writer];
    found.lines.push_back(openaclnn::text("slotMapping[", writer, "] = ", slot));
    found.lines.push_back(
        source_line(openaclnn::text("input, tokens ", end - count, ":", end, " of sequence ", writer, ", [",
                                    head, ", ", column, "]"),
                    count, token));
    found.lines.push_back(
        source_line(openaclnn::text("weight[", run_text(0, count), ", ", head, "]"), count, weight_of));
    if (count > kMostTerms) return found;
    found.is_sum = true;
    for (int64_t k = 0; k < count; ++k) found.terms.push_back({weight_of(k), token(k)});
    return found;
  };
}

inline FindSources nsa_compress_with_cache_sources(const GoldenCall& call) {
  return cache_sources(call, cache_reading(call));
}

}  // namespace openaclnn_verify
