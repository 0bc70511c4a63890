// The powers of two of rows.h, compiled once per instruction set.
#include <limits>

#include "cpu/lanes16.h"
#include "rows.h"

namespace openaclnn::python::OPENACLNN_ISA_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using openaclnn::OPENACLNN_ISA_NAMESPACE::F32;
using openaclnn::OPENACLNN_ISA_NAMESPACE::I32Tag;
using openaclnn::OPENACLNN_ISA_NAMESPACE::kUnrolledParts;
using openaclnn::OPENACLNN_ISA_NAMESPACE::Lanes16;

// The series of 2**x = exp(x * ln(2)) at 0. Up to 1/2 the next term is below 1e-8.
constexpr float kSeries[] = {1.52527338e-5f, 1.54035304e-4f, 1.33335581e-3f, 9.61812911e-3f,
                             5.55041087e-2f, 2.40226507e-1f, 6.93147181e-1f, 1.0f};
constexpr float kLeast = -125, kOverflow = 128;
// Floats near it have steps of 1: adding it rounds, and leaves the integer in the lowest bits.
constexpr float kRounder = 0x1.8p23f;

// 2**x is 2**whole, added to the exponent, times 2**rest.
HWY_INLINE F32 exp2(F32 x) {
  const F32::Tag f32;
  const F32 rounded = x + F32(kRounder);
  const F32 rest = x - (rounded - F32(kRounder));
  F32 power = kSeries[0];
#pragma GCC unroll 8
  for (size_t k = 1; k < sizeof(kSeries) / sizeof(float); ++k) power = multiply_add(power, rest, kSeries[k]);
  const auto whole = hn::ShiftLeft<23>(hn::BitCast(I32Tag(), rounded.raw));
  const auto scaled = hn::BitCast(f32, hn::Add(hn::BitCast(I32Tag(), power.raw), whole));
  const auto positive = hn::IfThenElseZero(hn::Ge(x.raw, hn::Set(f32, kLeast)), scaled);
  // NaN and what is too large: their sum with infinity.
  const auto infinity = hn::Set(f32, std::numeric_limits<float>::infinity());
  return hn::IfThenElse(hn::Lt(x.raw, hn::Set(f32, kOverflow)), positive, hn::Add(x.raw, infinity));
}

HWY_INLINE Lanes16 exp2(const Lanes16& x) {
  Lanes16 power;
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) power.part[p] = exp2(x.part[p]);
  return power;
}

// Without a look for NaN.
HWY_INLINE void store_lanes(const Lanes16& value, float* to) {
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p)
    hn::StoreU(value.part[p].raw, F32::Tag(), to + p * F32::kLanes);
}

HWY_INLINE void add(const Lanes16& more, Lanes16& sum) {
#pragma GCC unroll kUnrolledParts
  for (int64_t p = 0; p < Lanes16::kParts; ++p) sum.part[p] = sum.part[p] + more.part[p];
}

}  // namespace

void exp2_rows(float* values, int64_t rows, int64_t columns, float* sums) {
  for (int64_t row = 0; row < rows; ++row, values += columns) {
    Lanes16 sum;
    int64_t column = 0;
    for (; column + Lanes16::kLanes <= columns; column += Lanes16::kLanes) {
      const Lanes16 power = exp2(Lanes16::load(values + column));
      store_lanes(power, values + column);
      add(power, sum);
    }
    if (column < columns) {
      const int64_t count = columns - column;
      float rest[Lanes16::kLanes];
      for (int64_t k = 0; k < Lanes16::kLanes; ++k)  // powers that are 0 add nothing to the sum
        rest[k] = k < count ? values[column + k] : -std::numeric_limits<float>::infinity();
      const Lanes16 power = exp2(Lanes16::load(rest));
      store_lanes(power, rest);
      add(power, sum);
      for (int64_t k = 0; k < count; ++k) values[column + k] = rest[k];
    }
    if (sums != nullptr) sums[row] = sum_of_lanes<float>(sum);
  }
}

}  // namespace openaclnn::python::OPENACLNN_ISA_NAMESPACE
