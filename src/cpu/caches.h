// What a kernel needs to know about the caches. Results never depend on it.
#pragma once

#include <cstdint>

namespace openaclnn::cpu {

// Whether `bytes` that are only written do not stay in the caches anyway, so that they are better written past them.
bool exceeds_caches(int64_t bytes);

}  // namespace openaclnn::cpu
