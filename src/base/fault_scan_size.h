// How much workspace the blocks of a GPU need to leave what they found wrong in an index tensor: known to plans and kernels.
#pragma once

#include <cstdint>

namespace openaclnn {

inline constexpr int64_t kMostScanBlocks = 4096;
inline constexpr int64_t kFaultScanBytes = 16;  // of a block: a count and a position

}  // namespace openaclnn
