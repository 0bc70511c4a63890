// NsaCompressWithCache: the last block of each sequence read from a page somewhere, and one token written.
#include "ops/nsa/compress_with_cache/verify/cases.h"
#include "references.h"

namespace openaclnn_bench {

namespace {

using openaclnn_verify::kCacheInput, openaclnn_verify::kCacheTable;

// Every sequence lies in one page, and completes a block of its last tokens.
constexpr int64_t kBlock = 32, kStride = 16, kPageTokens = 128, kLength = kPageTokens - kStride;

RowTerms blocks_of(const std::vector<int64_t>& pages) {
  RowTerms rows;
  for (const int64_t page : pages) {
    rows.starts.push_back(static_cast<int64_t>(rows.terms.size()));
    for (int64_t t = kLength - kBlock; t < kLength; ++t) rows.terms.push_back(page * kPageTokens + t);
  }
  rows.starts.push_back(static_cast<int64_t>(rows.terms.size()));
  return rows;
}

class NsaCompressWithCache final : public Workload {
 public:
  explicit NsaCompressWithCache(const WorkloadDescription& d)
      : Workload(d),
        reference_(blocks_of(d.call.tensors[kCacheTable].listed), tensor(kCacheInput), tensors().back(),
                   tensors().back().bytes() / d.call.tensors.back().dims[0]) {}

  double run_reference(Team& team, int calls) override { return reference_.run(team, calls); }

 private:
  GatherReference reference_;
};

}  // namespace

std::vector<Entry> nsa_compress_with_cache_workloads() {
  struct Size {
    const char *size, *variant;
    int64_t sequences_of_floats, heads, columns;
  };
  constexpr Size kSizes[] = {{"L2", "32_16", 4, 2, 128},
                             {"L3", "32_16", 32, 4, 128},
                             {"memory", "32_16", 256, 16, 128},
                             {"memory", "few_heads_32_16", 2048, 2, 128}};
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    for (const Size& s : kSizes) {
      const int64_t sequences = s.sequences_of_floats * type.wide();
      const std::vector<int64_t> lengths(static_cast<size_t>(sequences), kLength);
      entries.push_back(entry<NsaCompressWithCache>(
          {"NsaCompressWithCache",
           type.name,
           s.size,
           s.variant,
           {{"sequences", sequences},
            {"heads", s.heads},
            {"columns", s.columns},
            {"block", kBlock},
            {"stride", kStride},
            {"page", kPageTokens}},
           cache_case(type.dtype, {s.heads, s.columns, 0}, {kBlock, kStride, lengths, kPageTokens},
                      openaclnn_verify::Layout::contiguous, s.variant),
           "reads of the blocks, streaming writes of the slots"}));
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
