// Terms whose sum distinguishes the prescribed order of additions from others.
#pragma once

#include <cstdint>

namespace openaclnn_test {

// Exact in FLOAT.
inline double order_term(int64_t i) {
  const uint32_t k = static_cast<uint32_t>(static_cast<uint64_t>(i) * 2654435761u);
  return (static_cast<double>(k >> 8) - 0x1p23) / 0x1p24;
}

// Sums of the first terms, which are first rounded to the dtype.
struct OrderedSum {
  int64_t terms;
  uint64_t bits[3];  // FLOAT, FLOAT16, BF16
};
inline constexpr OrderedSum kOrderedSums[] = {
    {64, {0xbd321ce0, 0xa995, 0xbd2f}},   {65, {0x3c2f2780, 0x2168, 0x3c3b}},
    {512, {0xbe883160, 0xb442, 0xbe8b}},  {513, {0xbeaa4a9c, 0xb553, 0xbead}},
    {1537, {0xbe9647d8, 0xb4b3, 0xbe98}}, {100000, {0x3e1ecfb4, 0x30ff, 0x3e1c}}};

}  // namespace openaclnn_test
