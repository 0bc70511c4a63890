// Distances between neighbouring numbers of a dtype, and roundings to it, fast enough for every element of large tensors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "verify/number.h"

namespace openaclnn_judge {

class Spacing {
 public:
  // Types that are not floating-point numbers have whole numbers.
  explicit Spacing(aclDataType dtype) {
    if (const openaclnn_verify::FloatFormat* format = openaclnn_verify::float_format(dtype)) {
      is_float_ = true;
      digits_ = format->precision - 1;
      low_ = format->min_exponent;
      high_ = format->max_exponent;
    }
  }

  bool is_float() const { return is_float_; }
  int digits() const { return digits_; }  // of the fraction, without the leading 1
  double smallest_normal() const { return std::ldexp(1.0, low_); }
  double largest() const { return std::ldexp(2 - std::ldexp(1.0, -digits_), high_); }

  // Returns the distance of neighbouring numbers around a finite y.
  double ulp(double y) const {
    if (!is_float_) return 1;
    const int exponent = exponent_of(y) - digits_;
    if (exponent < -1022) return std::ldexp(1.0, exponent);  // of DOUBLE
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  }

  // Rounds to nearest even; numbers beyond the range become infinite.
  double round(double y) const {
    return apply(y, [](double quanta) { return std::nearbyint(quanta); });
  }
  // Rounds toward zero.
  double truncate(double y) const {
    return apply(y, [](double quanta) { return std::trunc(quanta); });
  }

 private:
  int exponent_of(double y) const {
    const auto field = static_cast<int>(std::bit_cast<uint64_t>(y) >> 52 & 0x7FF);
    return std::clamp(field - 1023, low_, high_);
  }
  template <class RoundQuanta>
  double apply(double y, const RoundQuanta& round_quanta) const {
    if (!std::isfinite(y) || (is_float_ && digits_ == 52)) return y;
    const double quantum = ulp(y);
    const double rounded = round_quanta(y / quantum) * quantum;
    if (is_float_ && std::fabs(rounded) > largest())
      return std::copysign(std::numeric_limits<double>::infinity(), y);
    return rounded;
  }

  bool is_float_ = false;
  int digits_ = 0, low_ = 0, high_ = 0;
};

}  // namespace openaclnn_judge
