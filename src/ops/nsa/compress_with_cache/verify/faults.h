// Faults that kernels of NsaCompressWithCache have: wrong tokens, weights, pages and slots.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ops/nsa/compress_with_cache/verify/sources.h"

namespace openaclnn_verify {

inline std::vector<Fault> nsa_compress_with_cache_faults(const GoldenCall& call) {
  std::vector<Fault> faults;
  const auto add = [&](const char* name, const char* text, const std::function<void(CacheReading&)>& change) {
    CacheReading reading = cache_reading(call);
    change(reading);
    const FindSources find = cache_sources(call, std::move(reading));
    faults.push_back({name, text, [&call, find](const Place& place) -> std::optional<FaultyValue> {
                        const ElementSources sources = find(place);
                        if (sources.is_sum) return faulty_sum(sources);
                        return FaultyValue{call.tensors.back().get(place.element), 0};  // unchanged
                      }});
  };
  add("windows-shifted-by-one",
      "Each window ends one token too early. It ends with the newest token of its sequence.",
      [](CacheReading& r) { r.moved_tokens = -1; });
  add("windows-shifted-by-one",
      "Each window ends one token too late. It ends with the newest token of its sequence.",
      [](CacheReading& r) { r.moved_tokens = 1; });
  add("weights-reversed",
      "The weights are applied in reverse order. Weight i belongs to token i of the window.",
      [](CacheReading& r) { r.reverses_weights = true; });
  add("page-table-ignored",
      "The pages of each sequence are read in order from its first one. Use the entries of blockTable.",
      [](CacheReading& r) { r.ignores_pages = true; });
  add("incomplete-windows-written",
      "Sequences write a window although their newest token does not end one. Write if (length - block) % "
      "stride is 0.",
      [](CacheReading& r) { r.ignores_completeness = true; });
  add("slots-ignored", "Sequence b writes slot b. The slot must be slotMapping[b].", [](CacheReading& r) {
    for (size_t b = 0; b < r.slot_of.size(); ++b) r.slot_of[b] = static_cast<int64_t>(b);
  });
  add("slots-shifted-by-one", "Each sequence writes the slot after its own. Slots count from 0.",
      [](CacheReading& r) {
        for (int64_t& slot : r.slot_of) ++slot;
      });
  add("slots-shifted-by-one", "Each sequence writes the slot before its own. Slots count from 0.",
      [](CacheReading& r) {
        for (int64_t& slot : r.slot_of) --slot;
      });
  return faults;
}

}  // namespace openaclnn_verify
