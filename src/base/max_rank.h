// The most dims that a tensor may have.
#pragma once

namespace openaclnn {

inline constexpr int kMaxRank = 8;

}  // namespace openaclnn
