// Sizes of workloads of several operators.
#pragma once

#include <cstdint>

namespace openaclnn_bench {

// Bytes of one of the tensors of an optimizer, so that all of them together fit into the named memory.
struct TensorSize {
  const char* name;
  int64_t bytes;
};
inline constexpr TensorSize kStateSizes[] = {
    {"L1", 4 << 10}, {"L2", 96 << 10}, {"L3", 384 << 10}, {"memory", 64 << 20}};

}  // namespace openaclnn_bench
