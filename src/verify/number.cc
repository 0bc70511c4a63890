// Converts by scaling and rounding to a whole number: a number is a whole multiple of its quantum.
#include "verify/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace openaclnn_verify {

namespace {

// Returns the exponent of the quantum of `format` at a finite magnitude. The exponent field of a double gives
// its logarithm, or -1023 for zero and subnormal numbers, which all formats count from their lowest exponent.
int quantum_exponent(const FloatFormat& format, double magnitude) {
  const int floor_log2 = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52) - 1023;
  return std::max(floor_log2, format.min_exponent) - format.precision + 1;
}

// Rounds a magnitude to a whole number, ties to even: doubles from 2^52 to 2^53 are the whole numbers.
double to_whole(double magnitude) { return magnitude < 0x1p52 ? magnitude + 0x1p52 - 0x1p52 : magnitude; }

}  // namespace

const char* dtype_name(aclDataType dtype) {
  switch (dtype) {
    case ACL_BOOL: return "BOOL";
    case ACL_INT8: return "INT8";
    case ACL_UINT8: return "UINT8";
    case ACL_INT16: return "INT16";
    case ACL_INT32: return "INT32";
    case ACL_INT64: return "INT64";
    case ACL_FLOAT16: return "FLOAT16";
    case ACL_BF16: return "BF16";
    case ACL_FLOAT: return "FLOAT";
    case ACL_DOUBLE: return "DOUBLE";
    case ACL_COMPLEX64: return "COMPLEX64";
    case ACL_COMPLEX128: return "COMPLEX128";
    default: return "another dtype";
  }
}

double round_to(aclDataType dtype, double value) {
  const FloatFormat& format = *float_format(dtype);
  const double magnitude = std::fabs(value);
  if (!std::isfinite(value) || magnitude >= format.overflow) {
    return std::isnan(value) ? value : std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  const int quantum = quantum_exponent(format, magnitude);
  const double rounded = scale(to_whole(scale(magnitude, -quantum)), quantum);
  return std::copysign(rounded < format.overflow ? rounded : std::numeric_limits<double>::infinity(), value);
}

uint64_t encode(aclDataType dtype, double value) {
  if (dtype == ACL_BOOL) return value != 0 ? 1 : 0;
  const int64_t width = 8 * element_bytes(dtype);
  const FloatFormat* format = float_format(dtype);
  if (format == nullptr) {
    const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    return static_cast<uint64_t>(static_cast<int64_t>(value)) & mask;
  }

  const int fraction = format->precision - 1;
  const uint64_t infinity = ((uint64_t{1} << format->exponent_bits) - 1) << fraction;
  if (std::isnan(value)) return infinity | uint64_t{1} << (fraction - 1);
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (width - 1) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= format->overflow) return sign | infinity;
  const int quantum = quantum_exponent(*format, magnitude);
  // In whole quanta; the hidden bit of a normal number increments the exponent field, and so does rounding up
  // to the next power of two, even to infinity.
  const auto quanta = static_cast<uint64_t>(static_cast<int64_t>(to_whole(scale(magnitude, -quantum))));
  const auto steps = static_cast<uint64_t>(quantum - (format->min_exponent - fraction));
  return sign | (quanta + (steps << fraction));
}

double decode(aclDataType dtype, uint64_t bits) {
  const FloatFormat* format = float_format(dtype);
  const int64_t width = 8 * element_bytes(dtype);
  if (format == nullptr) {
    switch (dtype) {
      case ACL_INT8:
      case ACL_INT16:
      case ACL_INT32:
      case ACL_INT64: return static_cast<double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
      default: return static_cast<double>(bits);
    }
  }
  const int fraction = format->precision - 1;
  const double sign = (bits >> (width - 1) & 1) != 0 ? -1 : 1;
  const auto field = static_cast<int>(bits >> fraction & ((uint64_t{1} << format->exponent_bits) - 1));
  const auto quanta = static_cast<int64_t>(bits & ((uint64_t{1} << fraction) - 1));
  if (field == (1 << format->exponent_bits) - 1) {
    return quanta != 0 ? std::numeric_limits<double>::quiet_NaN()
                       : sign * std::numeric_limits<double>::infinity();
  }
  const int64_t hidden = field > 0 ? int64_t{1} << fraction : 0;
  const int quantum = format->min_exponent - fraction + std::max(field, 1) - 1;
  return sign * scale(static_cast<double>(quanta + hidden), quantum);
}

double largest_finite(aclDataType dtype) {
  const FloatFormat& f = *float_format(dtype);
  return std::ldexp(2 - std::ldexp(1.0, 1 - f.precision), f.max_exponent);
}

double ulp(aclDataType dtype, double y) {
  const FloatFormat& format = *float_format(dtype);
  const int lowest = format.min_exponent - format.precision + 1;
  return scale(1, y == 0 ? lowest : quantum_exponent(format, std::fabs(y)));
}

long double allowed_error(aclDataType dtype, double result, long double c, long double sum_of_magnitudes) {
  return ulp(dtype, result) / 2 + c * 0x1p-24L * sum_of_magnitudes;
}

}  // namespace openaclnn_verify
