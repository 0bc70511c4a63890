// The shapes of token compression and of its gradient.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload.h"

namespace openaclnn_bench {

struct CompressionSize {
  std::string size, variant;
  int64_t tokens, heads, columns, block, stride;

  std::vector<std::pair<std::string, int64_t>> shape() const {
    return {{"tokens", tokens}, {"heads", heads}, {"columns", columns}, {"block", block}, {"stride", stride}};
  }
};

// How many windows cover a token of a workload with such a shape.
inline int most_windows(const WorkloadDescription& description) {
  int64_t block = 1, stride = 1;
  for (const auto& [name, value] : description.shape) {
    if (name == "block") block = value;
    if (name == "stride") stride = value;
  }
  return static_cast<int>((block + stride - 1) / stride);
}

inline std::vector<CompressionSize> compression_sizes(const FloatType& type) {
  const int64_t wide = type.wide();
  std::vector<CompressionSize> sizes = {{"L1", "32_16", 64, 1, 64 * wide, 32, 16},
                                        {"L2", "32_16", 256, 2, 128 * wide, 32, 16}};
  constexpr std::pair<int64_t, int64_t> kWindows[] = {{32, 16},  {64, 16}, {64, 32},
                                                      {128, 64}, {16, 16}, {24, 10}};
  for (const auto& [block, stride] : kWindows) {
    sizes.push_back({"memory", std::to_string(block) + "_" + std::to_string(stride), 16384 * wide, 16, 128,
                     block, stride});
    if (block != 32)  // the base of the list above
      sizes.push_back(
          {"L2", std::to_string(block) + "_" + std::to_string(stride), 256 * wide, 4, 128, block, stride});
  }
  sizes.push_back({"L3", "wide_32_16", 48, 128, 128, 32, 16});
  sizes.push_back({"L2", "narrow_32_16", 512 * wide, 4, 64, 32, 16});
  sizes.push_back({"memory", "wide_32_16", 2048 * wide, 128, 128, 32, 16});
  sizes.push_back({"memory", "narrow_32_16", 131072 * wide, 4, 64, 32, 16});
  return sizes;
}

}  // namespace openaclnn_bench
