// Numbers as the sum of two doubles, about 106 bits: the arithmetic of goldens where sums and roots need more than double. Dekker,
// "A floating-point technique for extending the available precision" (1971). Only IEEE operations on doubles: the bits are the
// same on every machine. Results are NaN instead of infinite, so callers repeat the formula in double if a result isn't finite.
// `Real` is double, or several of them side by side (golden/lanes.h).
#pragma once

#include <cmath>
#include <cstdint>

namespace openaclnn_verify {

// Returns the error of product = a * b. Halves of 26 bits instead of a fused multiply-add, which not every processor has.
template <class Real>
[[gnu::always_inline]] inline Real split_product_error(Real a, Real b, Real product) {
  const Real split(0x1p27 + 1);
  const Real a_split = split * a, b_split = split * b;
  const Real a_high = a_split - (a_split - a), b_high = b_split - (b_split - b);
  const Real a_low = a - a_high, b_low = b - b_high;
  return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
}
inline double product_error(double a, double b, double product) { return split_product_error(a, b, product); }

inline double square_root(double a) { return std::sqrt(a); }
inline double select(bool condition, double yes, double no) { return condition ? yes : no; }
inline double larger(double a, double b) { return a > b ? a : b; }
inline double smaller(double a, double b) { return a < b ? a : b; }
inline bool is_nan(double a) { return std::isnan(a); }

template <class Real>
struct BasicDoubleDouble {
  Real high = 0.0, low = 0.0;  // high is high + low rounded to double

  BasicDoubleDouble() = default;
  [[gnu::always_inline]] BasicDoubleDouble(Real value) : high(value) {}
  [[gnu::always_inline]] BasicDoubleDouble(Real high_part, Real low_part) : high(high_part), low(low_part) {}

  // The sum of two doubles without an error.
  [[gnu::always_inline]] static BasicDoubleDouble sum(Real a, Real b) {
    const Real sum = a + b, b_part = sum - a;
    return {sum, (a - (sum - b_part)) + (b - b_part)};
  }
  // The same if |a| >= |b| or a is 0.
  [[gnu::always_inline]] static BasicDoubleDouble ordered_sum(Real a, Real b) {
    const Real sum = a + b;
    return {sum, b - (sum - a)};
  }
  // The product of two doubles without an error.
  [[gnu::always_inline]] static BasicDoubleDouble product(Real a, Real b) {
    const Real product = a * b;
    return {product, product_error(a, b, product)};
  }

  [[gnu::always_inline]] friend BasicDoubleDouble operator-(BasicDoubleDouble a) { return {-a.high, -a.low}; }
  [[gnu::always_inline]] friend BasicDoubleDouble operator+(BasicDoubleDouble a, BasicDoubleDouble b) {
    BasicDoubleDouble total = sum(a.high, b.high);
    const BasicDoubleDouble rest = sum(a.low, b.low);
    total = ordered_sum(total.high, total.low + rest.high);
    return ordered_sum(total.high, total.low + rest.low);
  }
  [[gnu::always_inline]] friend BasicDoubleDouble operator+(BasicDoubleDouble a, Real b) {
    const BasicDoubleDouble total = sum(a.high, b);
    return ordered_sum(total.high, total.low + a.low);
  }
  [[gnu::always_inline]] friend BasicDoubleDouble operator-(BasicDoubleDouble a, BasicDoubleDouble b) {
    return a + -b;
  }
  [[gnu::always_inline]] friend BasicDoubleDouble operator*(BasicDoubleDouble a, BasicDoubleDouble b) {
    const BasicDoubleDouble main = product(a.high, b.high);
    return ordered_sum(main.high, main.low + (a.high * b.low + a.low * b.high));
  }
  [[gnu::always_inline]] friend BasicDoubleDouble operator*(BasicDoubleDouble a, Real b) {
    const BasicDoubleDouble main = product(a.high, b);
    return ordered_sum(main.high, main.low + a.low * b);
  }
  [[gnu::always_inline]] friend BasicDoubleDouble operator/(BasicDoubleDouble a, BasicDoubleDouble b) {
    const Real first = a.high / b.high;
    const BasicDoubleDouble near = b * first;
    return ordered_sum(first, ((a.high - near.high) + (a.low - near.low)) / b.high);
  }
  template <class Mask>
  [[gnu::always_inline]] friend BasicDoubleDouble select(Mask condition, BasicDoubleDouble yes,
                                                         BasicDoubleDouble no) {
    return {select(condition, yes.high, no.high), select(condition, yes.low, no.low)};
  }
  [[gnu::always_inline]] friend BasicDoubleDouble square_root(BasicDoubleDouble a) {
    const Real first = square_root(a.high);
    const BasicDoubleDouble near = product(first, first);
    const Real rest = ((a.high - near.high) + (a.low - near.low)) / (first + first);
    return ordered_sum(first, select(first == Real(0.0), Real(0.0), rest));
  }
};

using DoubleDouble = BasicDoubleDouble<double>;

inline DoubleDouble two_sum(double a, double b) { return DoubleDouble::sum(a, b); }
inline DoubleDouble ordered_sum(double a, double b) { return DoubleDouble::ordered_sum(a, b); }

// The results of comparisons.
template <class Real>
using MaskOf = decltype(Real() < Real());

// Names that formulas use for both kinds of numbers, a Real or a BasicDoubleDouble of it.
template <class Number>
struct NumberTraits {
  using Real = Number;
  [[gnu::always_inline]] static Number product(Real a, Real b) { return a * b; }
};
template <class R>
struct NumberTraits<BasicDoubleDouble<R>> {
  using Real = R;
  [[gnu::always_inline]] static BasicDoubleDouble<R> product(Real a, Real b) {
    return BasicDoubleDouble<R>::product(a, b);
  }
};

inline double rounded(double a) { return a; }
template <class Real>
[[gnu::always_inline]] inline Real rounded(BasicDoubleDouble<Real> a) {
  return a.high;
}

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
