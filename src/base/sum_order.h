// The shape of the library's one order of additions for long sums (cpu/rows.h): windows of terms, chunks of windows.
#pragma once

#include <cstdint>

namespace openaclnn {

inline constexpr int64_t kWindowTerms = 64;  // added in fp32, from left to right
inline constexpr int64_t kChunkTerms =
    512;  // 8 windows, whose sums are added in fp32; chunk sums are added in fp64

}  // namespace openaclnn
