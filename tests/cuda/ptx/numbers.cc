// Computes PTX's instructions on floating-point numbers, and conversions.
#include <bit>
#include <cmath>
#include <limits>

#include "cuda/ptx/arithmetic.h"

namespace openaclnn::ptx {

namespace {

// ---- numbers ----

// Instructions of single precision return one NaN. Double precision keeps the operand's.
float result(float x) { return x != x ? std::bit_cast<float>(0x7FFFFFFFu) : x; }
double result(double x) { return x; }

// Returns the other operand if one is NaN; -0 is less than +0.
template <class T>
T least(T a, T b) {
  if (a != a || b != b) return result(a != a ? b : a);
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T greatest(T a, T b) {
  if (a != a || b != b) return result(a != a ? b : a);
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

template <class T>
void add_number(Table& t, const std::string& type) {
  add_moves<T>(t, type);
  add_comparison<T>(t, "eq", type, [](T a, T b) { return a == b; });
  add_comparison<T>(t, "ne", type, [](T a, T b) { return a < b || a > b; });
  add_comparison<T>(t, "lt", type, [](T a, T b) { return a < b; });
  add_comparison<T>(t, "le", type, [](T a, T b) { return a <= b; });
  add_comparison<T>(t, "gt", type, [](T a, T b) { return a > b; });
  add_comparison<T>(t, "ge", type, [](T a, T b) { return a >= b; });
  add_comparison<T>(t, "equ", type, [](T a, T b) { return !(a < b || a > b); });
  add_comparison<T>(t, "neu", type, [](T a, T b) { return a != b; });
  add_comparison<T>(t, "ltu", type, [](T a, T b) { return !(a >= b); });
  add_comparison<T>(t, "leu", type, [](T a, T b) { return !(a > b); });
  add_comparison<T>(t, "gtu", type, [](T a, T b) { return !(a <= b); });
  add_comparison<T>(t, "geu", type, [](T a, T b) { return !(a < b); });
  add_comparison<T>(t, "num", type, [](T a, T b) { return a == a && b == b; });
  add_comparison<T>(t, "nan", type, [](T a, T b) { return a != a || b != b; });
  t.add<T, T>("add.rn." + type, [](T a, T b) { return result(a + b); });
  t.add<T, T>("sub.rn." + type, [](T a, T b) { return result(a - b); });
  t.add<T, T>("mul.rn." + type, [](T a, T b) { return result(a * b); });
  t.add<T, T>("div.rn." + type, [](T a, T b) { return result(a / b); });
  t.add<T>("rcp.rn." + type, [](T a) { return result(1 / a); });
  t.add<T>("sqrt.rn." + type, [](T a) { return result(std::sqrt(a)); });
  t.add<T, T, T>("fma.rn." + type, [](T a, T b, T c) { return result(std::fma(a, b, c)); });
  t.add<T>("abs." + type, [](T a) { return std::fabs(a); });
  t.add<T>("neg." + type, [](T a) { return -a; });
  t.add<T, T>("min." + type, calls<least<T>>);
  t.add<T, T>("max." + type, calls<greatest<T>>);
}

// ---- conversions ----

// Rounds towards zero or as given, within the type's limits. NaN gives 0, but 2^(bits - 1) from or to 64
// bits.
template <class To, class From>
To to_integer(From x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) {
    const bool is_wide = sizeof(From) == 8 || sizeof(To) == 8;
    return is_wide ? static_cast<To>(std::make_unsigned_t<To>(1) << (8 * sizeof(To) - 1)) : To(0);
  }
  if (x < static_cast<From>(Limits::min())) return Limits::min();
  if (x >= std::ldexp(From(1), Limits::digits)) return Limits::max();
  return static_cast<To>(x);
}

template <class T>
void add_conversions(Table& t, const std::string& type) {
  t.add<T>("cvt.rn.f32." + type, [](T x) { return static_cast<float>(x); });
  t.add<T>("cvt.rn.f64." + type, [](T x) { return static_cast<double>(x); });
  t.add<float>("cvt.rzi." + type + ".f32", [](float x) { return to_integer<T>(std::trunc(x)); });
  t.add<double>("cvt.rzi." + type + ".f64", [](double x) { return to_integer<T>(std::trunc(x)); });
}

// Half precision by its bits, because not every compiler has the type. The exponents' biases, 127 and 15,
// differ by 112.
constexpr uint32_t kRebias = 112u << 23;

float float_of_half(Half half) {
  const uint32_t sign = uint32_t{half.bits} >> 15 << 31, rest = half.bits & 0x7FFFu;
  if (rest > 0x7C00) return result(std::numeric_limits<float>::quiet_NaN());
  if (rest == 0x7C00) return std::bit_cast<float>(sign | 0x7F800000);
  const float magnitude = rest < 0x400 ? std::ldexp(static_cast<float>(rest), -24)  // subnormal or zero
                                       : std::bit_cast<float>((rest << 13) + kRebias);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Drops bits, rounding to nearest and ties to even. A carry correctly moves into the exponent.
uint32_t rounded(uint32_t bits, int dropped) {
  const uint32_t below_half = (1u << (dropped - 1)) - 1;
  return (bits + below_half + (bits >> dropped & 1)) >> dropped;
}

uint16_t half_of_float(float x) {
  constexpr uint32_t kOverflow = 0x477FF000, kLeastNormal = 0x38800000;  // 65,520 and 2^-14
  if (x != x) return 0x7FFF;
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 31 << 15, rest = bits & 0x7FFFFFFF;
  uint32_t magnitude = 0x7C00;
  if (rest < kLeastNormal) {
    magnitude = static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(rest), 24)));
  } else if (rest < kOverflow) {
    magnitude = rounded(rest - kRebias, 13);
  }
  return static_cast<uint16_t>(sign | magnitude);
}

uint16_t bfloat_of_float(float x) {
  return x != x ? uint16_t{0x7FFF} : static_cast<uint16_t>(rounded(std::bit_cast<uint32_t>(x), 16));
}

void add_float_conversions(Table& t) {
  t.add<float>("cvt.f64.f32", [](float x) { return static_cast<double>(x); });
  t.add<double>("cvt.rn.f32.f64", [](double x) { return result(static_cast<float>(x)); });
  t.add<Half>("cvt.f32.f16", calls<float_of_half>);
  t.add<float>("cvt.rn.f16.f32", calls<half_of_float>);
  t.add<Half>("cvt.f32.bf16", [](Half x) { return result(std::bit_cast<float>(uint32_t{x.bits} << 16)); });
  t.add<float>("cvt.rn.bf16.f32", calls<bfloat_of_float>);
  // The second operand goes to the lower half.
  t.add<float, float>("cvt.rn.f16x2.f32", [](float high, float low) {
    return uint32_t{half_of_float(high)} << 16 | half_of_float(low);
  });
  t.add<float, float>("cvt.rn.bf16x2.f32", [](float high, float low) {
    return uint32_t{bfloat_of_float(high)} << 16 | bfloat_of_float(low);
  });
}

}  // namespace

void add_numbers(Table& t) {
  add_number<float>(t, "f32");
  add_number<double>(t, "f64");
  for_each_integer([&]<class T>(T, const std::string& type) { add_conversions<T>(t, type); });
  add_float_conversions(t);
}

}  // namespace openaclnn::ptx
