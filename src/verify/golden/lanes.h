// Several doubles side by side, with infix arithmetic: formulas of goldens read the same for these and for double. Compiled once
// per instruction set, in that set's namespace. Every operation is one IEEE operation on each lane, so the bits don't depend on the
// number of lanes. Everything is inlined: the linker must not give one set's code to another.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

#include "verify/golden/double_double.h"

namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using LaneTag = hn::ScalableTag<double>;

// Two vectors: in one alone, every addition of a formula would wait for the one before it. That took twice the time.
struct LaneMask {
  hn::Mask<LaneTag> first, second;
};
struct Lanes {
  static constexpr int64_t kVector = static_cast<int64_t>(hn::MaxLanes(LaneTag()));
  static constexpr int64_t kCount = 2 * kVector;
  hn::Vec<LaneTag> first, second;

  HWY_INLINE Lanes(hn::Vec<LaneTag> one, hn::Vec<LaneTag> other) : first(one), second(other) {}
  HWY_INLINE Lanes(double value) : Lanes(hn::Set(LaneTag(), value), hn::Set(LaneTag(), value)) {}
  HWY_INLINE Lanes() : Lanes(0.0) {}
  HWY_INLINE static Lanes load(const double* from) {
    return {hn::LoadU(LaneTag(), from), hn::LoadU(LaneTag(), from + kVector)};
  }
  HWY_INLINE void store(double* to) const {
    hn::StoreU(first, LaneTag(), to);
    hn::StoreU(second, LaneTag(), to + kVector);
  }
};

HWY_INLINE Lanes operator-(Lanes a) { return {hn::Neg(a.first), hn::Neg(a.second)}; }
HWY_INLINE Lanes operator+(Lanes a, Lanes b) {
  return {hn::Add(a.first, b.first), hn::Add(a.second, b.second)};
}
HWY_INLINE Lanes operator-(Lanes a, Lanes b) {
  return {hn::Sub(a.first, b.first), hn::Sub(a.second, b.second)};
}
HWY_INLINE Lanes operator*(Lanes a, Lanes b) {
  return {hn::Mul(a.first, b.first), hn::Mul(a.second, b.second)};
}
HWY_INLINE Lanes operator/(Lanes a, Lanes b) {
  return {hn::Div(a.first, b.first), hn::Div(a.second, b.second)};
}
HWY_INLINE Lanes square_root(Lanes a) { return {hn::Sqrt(a.first), hn::Sqrt(a.second)}; }
HWY_INLINE Lanes fabs(Lanes a) { return {hn::Abs(a.first), hn::Abs(a.second)}; }
// Processors differ where a number is NaN.
HWY_INLINE Lanes larger(Lanes a, Lanes b) { return {hn::Max(a.first, b.first), hn::Max(a.second, b.second)}; }
HWY_INLINE Lanes smaller(Lanes a, Lanes b) {
  return {hn::Min(a.first, b.first), hn::Min(a.second, b.second)};
}
HWY_INLINE Lanes rounded(Lanes a) { return a; }

HWY_INLINE LaneMask operator==(Lanes a, Lanes b) {
  return {hn::Eq(a.first, b.first), hn::Eq(a.second, b.second)};
}
HWY_INLINE LaneMask operator<(Lanes a, Lanes b) {
  return {hn::Lt(a.first, b.first), hn::Lt(a.second, b.second)};
}
HWY_INLINE LaneMask operator<=(Lanes a, Lanes b) {
  return {hn::Le(a.first, b.first), hn::Le(a.second, b.second)};
}
HWY_INLINE LaneMask operator>(Lanes a, Lanes b) { return b < a; }
HWY_INLINE LaneMask operator>=(Lanes a, Lanes b) { return b <= a; }
HWY_INLINE LaneMask is_nan(Lanes a) { return {hn::IsNaN(a.first), hn::IsNaN(a.second)}; }

HWY_INLINE LaneMask operator&(LaneMask a, LaneMask b) {
  return {hn::And(a.first, b.first), hn::And(a.second, b.second)};
}
HWY_INLINE LaneMask operator|(LaneMask a, LaneMask b) {
  return {hn::Or(a.first, b.first), hn::Or(a.second, b.second)};
}
HWY_INLINE LaneMask lanes_of(bool value) { return Lanes(value ? 1.0 : 0.0) == Lanes(1.0); }
HWY_INLINE bool all(LaneMask mask) {
  return hn::AllTrue(LaneTag(), mask.first) && hn::AllTrue(LaneTag(), mask.second);
}
HWY_INLINE Lanes select(LaneMask condition, Lanes yes, Lanes no) {
  return {hn::IfThenElse(condition.first, yes.first, no.first),
          hn::IfThenElse(condition.second, yes.second, no.second)};
}

// Highway's scalar target would round the product of a multiply-add.
HWY_INLINE Lanes product_error(Lanes a, Lanes b, Lanes product) {
#if HWY_TARGET == HWY_SCALAR
  return split_product_error(a, b, product);
#else
  return {hn::MulSub(a.first, b.first, product.first), hn::MulSub(a.second, b.second, product.second)};
#endif
}

using WideDoubleDouble = BasicDoubleDouble<Lanes>;
HWY_INLINE WideDoubleDouble widened(const DoubleDouble& x) { return {Lanes(x.high), Lanes(x.low)}; }

}  // namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE
