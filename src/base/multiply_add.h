// Fused multiply-add for processors without the instruction: a * b + c, rounded once.
#pragma once

#include <bit>
#include <cstdint>

namespace openaclnn {

// The product of two floats is exact in double. The sum is not, so it is rounded to odd: of the two doubles
// around the exact value, the one whose last bit is 1. A double has more than two bits beyond a float, so
// this bit tells every tie from its neighbours, and the conversion to float rounds as if the sum were exact.
// Requires round to nearest, and no flush to zero.
// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"
inline float multiply_add(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  // The exact error of the sum (Knuth's TwoSum), and NaN for infinities.
  const double added = sum - product;
  const double error = (product - (sum - added)) + (addend - added);
  const auto bits = std::bit_cast<uint64_t>(sum);
  const bool is_inexact = error < 0 || error > 0;
  if (!is_inexact || (bits & 1) != 0) return static_cast<float>(sum);
  const bool is_larger = (error > 0) == (sum > 0);  // the magnitude of the exact value
  return static_cast<float>(std::bit_cast<double>(is_larger ? bits + 1 : bits - 1));
}

}  // namespace openaclnn
