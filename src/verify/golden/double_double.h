// Numbers as the sum of two doubles, about 106 bits: the arithmetic of goldens where sums and roots need more than double. Dekker,
// "A floating-point technique for extending the available precision" (1971). Only IEEE operations on doubles: the bits are the
// same on every machine. Results are NaN instead of infinite, so callers repeat the formula in double if a result isn't finite.
#pragma once

#include <cmath>
#include <cstdint>

namespace openaclnn_verify {

struct DoubleDouble {
  double high = 0, low = 0;  // high is high + low rounded to double

  DoubleDouble() = default;
  DoubleDouble(double value) : high(value) {}
  DoubleDouble(double high_part, double low_part) : high(high_part), low(low_part) {}
};

// The sum of two doubles without an error.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
// The same if |a| >= |b| or a is 0.
inline DoubleDouble ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
// The product of two doubles without an error. Halves of 26 bits instead of a fused multiply-add, which not every processor has.
inline DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_split = kSplit * a, b_split = kSplit * b;
  const double a_high = a_split - (a_split - a), b_high = b_split - (b_split - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  return {product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble sum = two_sum(a.high, b.high);
  const DoubleDouble rest = two_sum(a.low, b.low);
  sum = ordered_sum(sum.high, sum.low + rest.high);
  return ordered_sum(sum.high, sum.low + rest.low);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble(first);
  return ordered_sum(first, rest.high / b.high);
}
inline DoubleDouble square_root(DoubleDouble a) {
  const double first = std::sqrt(a.high);
  const double rest = (a - two_product(first, first)).high / (2 * first);
  return ordered_sum(first, first == 0 ? 0 : rest);
}
inline double square_root(double a) { return std::sqrt(a); }

inline double rounded(DoubleDouble a) { return a.high; }
inline double rounded(double a) { return a; }

// Returns base^exponent by repeated squaring. The relative error is about exponent * 2^-104.
template <class Number>
Number power(double base, uint64_t exponent) {
  Number product = 1.0, square = base;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) product = product * square;
    square = square * square;
  }
  return product;
}

}  // namespace openaclnn_verify
