// Compares the prototypes of operators with those that callers were compiled against.
#pragma once

#include <cstdint>
#include <type_traits>

#include "aclnn/aclnn_base.h"

namespace openaclnn_test {

template <class Actual, class Expected>
constexpr bool same = std::is_same_v<Actual, Expected>;

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

}  // namespace openaclnn_test
