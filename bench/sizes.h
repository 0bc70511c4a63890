// Sizes of workloads of several operators.
#pragma once

#include <cstdint>
#include <vector>

namespace openaclnn_bench {

// Bytes of one of the tensors of an optimizer, so that all of them together fit into the named memory.
struct TensorSize {
  const char* name;
  int64_t bytes;
};
inline constexpr TensorSize kStateSizes[] = {
    {"L1", 4 << 10}, {"L2", 96 << 10}, {"L3", 384 << 10}, {"memory", 64 << 20}};

// The size of workloads whose cost is measured against a count; the variant is the count. Only --growth runs them.
inline constexpr const char* kGrowth = "growth";

// 1 and 3 times each power of ten in [least, most].
inline std::vector<int64_t> growing_counts(int64_t least, int64_t most) {
  std::vector<int64_t> counts;
  for (int64_t power = least; power <= most; power *= 10) {
    counts.push_back(power);
    if (3 * power <= most) counts.push_back(3 * power);
  }
  return counts;
}

}  // namespace openaclnn_bench
