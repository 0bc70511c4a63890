// NsaCompressWithCache: the last block of each sequence read from a page somewhere, and one token written.
#include "aclnnop/aclnn_nsa_compress_with_cache.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

constexpr int64_t kBlock = 32, kStride = 16, kPageTokens = 128;

enum { kInput, kWeight, kSlots, kTable, kCache };

// Every sequence fills one page, and its last block is the end of that page.
class NsaCompressWithCache final : public Workload {
 public:
  explicit NsaCompressWithCache(const Description& d)
      : Workload(d), sequences_(d.tensors[kSlots].dims[0]), pages_(static_cast<size_t>(sequences_)) {
    tensor(kInput).fill(-1, 1);
    tensor(kWeight).fill(-1, 1);
    std::iota(pages_.begin(), pages_.end(), int64_t{0});
    tensor(kSlots).fill_integers(pages_);
    std::mt19937_64 random(12345);
    std::shuffle(pages_.begin(), pages_.end(), random);
    tensor(kTable).fill_integers(pages_);
    const std::vector<int64_t> lengths(pages_.size(), kPageTokens);
    lengths_ = aclCreateIntArray(lengths.data(), lengths.size());
    for (const int64_t page : pages_) {
      starts_.push_back(static_cast<int64_t>(positions_.size()));
      for (int64_t t = kPageTokens - kBlock; t < kPageTokens; ++t)
        positions_.push_back(page * kPageTokens + t);
    }
    starts_.push_back(static_cast<int64_t>(positions_.size()));
    row_bytes_ = tensor(kCache).bytes() / sequences_;
  }
  ~NsaCompressWithCache() override { aclDestroyIntArray(lengths_); }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressWithCacheGetWorkspaceSize(handle(kInput), handle(kWeight), handle(kSlots),
                                                           lengths_, handle(kTable), nullptr, kBlock, kStride,
                                                           1, kPageTokens, handle(kCache), bytes, executor);
        },
        aclnnNsaCompressWithCache);
  }

  double run_reference(Team& team, int calls) override {
    const Gather gather = {tensor(kInput).data(), positions_.data(), starts_.data(),
                           tensor(kCache).data(), row_bytes_,        row_bytes_};
    return team.run(calls, [&](int thread) {
      traffic_kernels().gather(gather, sequences_ * thread / team.threads(),
                               sequences_ * (thread + 1) / team.threads());
    });
  }

 private:
  const int64_t sequences_;
  std::vector<int64_t> pages_, positions_, starts_;
  int64_t row_bytes_ = 0;
  aclIntArray* lengths_ = nullptr;
  Caller caller_;
};

}  // namespace

std::vector<Entry> nsa_compress_with_cache_workloads() {
  struct Size {
    const char *size, *variant;
    int64_t sequences, heads, columns;  // sequences of 4-byte elements
  };
  constexpr Size kSizes[] = {{"L2", "32_16", 4, 2, 128},
                             {"L3", "32_16", 32, 4, 128},
                             {"memory", "32_16", 256, 16, 128},
                             {"memory", "few_heads_32_16", 2048, 2, 128}};
  std::vector<Entry> entries;
  for (const char* dtype : kFloatTypes) {
    for (const auto& [size, variant, sequences_of_floats, heads, columns] : kSizes) {
      const int64_t sequences = sequences_of_floats * 4 / element_bytes(dtype);
      const int64_t row_bytes = heads * columns * element_bytes(dtype);
      const Description d{"NsaCompressWithCache",
                          dtype,
                          size,
                          variant,
                          {{"sequences", sequences},
                           {"heads", heads},
                           {"columns", columns},
                           {"block", kBlock},
                           {"stride", kStride},
                           {"page", kPageTokens}},
                          {{"input", {sequences, kPageTokens, heads, columns}, dtype},
                           {"weight", {kBlock, heads}, dtype},
                           {"slotMapping", {sequences}, "i32"},
                           {"blockTable", {sequences, 1}, "i32"},
                           {"outputCache", {sequences, heads, columns}, dtype}},
                          "reads of the blocks, streaming writes of the slots",
                          sequences * (kBlock + 1) * row_bytes};
      entries.push_back(
          {d, [](const Description& self) { return std::make_unique<NsaCompressWithCache>(self); }});
    }
  }
  return entries;
}

}  // namespace openaclnn_bench
