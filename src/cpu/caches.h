// Cache sizes for kernels. Results never depend on them.
#pragma once

#include <cstdint>

namespace openaclnn::cpu {

// Returns whether `bytes` of output exceed the caches, so that non-temporal stores are faster.
bool exceeds_caches(int64_t bytes);

}  // namespace openaclnn::cpu
