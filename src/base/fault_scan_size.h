// The workspace in which GPU thread blocks store the faults of an index tensor; shared by plans and kernels.
#pragma once

#include <cstdint>

namespace openaclnn {

inline constexpr int64_t kMostScanBlocks = 4096;
inline constexpr int64_t kFaultScanBytes = 16;  // per thread block: a count and a position

}  // namespace openaclnn
