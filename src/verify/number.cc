// Converts by scaling and rint: a number is a whole multiple of its quantum.
#include "verify/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace openaclnn_verify {

namespace {

constexpr FloatFormat kFloat = {24, -126, 127, 8, 0x1p128};
constexpr FloatFormat kFloat16 = {11, -14, 15, 5, 0x1p16};
constexpr FloatFormat kBfloat16 = {8, -126, 127, 8, 0x1p128};
constexpr FloatFormat kDouble = {53, -1022, 1023, 11, std::numeric_limits<double>::infinity()};

// For positive numbers; uses the exponent field of normal numbers.
int floor_log2(double magnitude) {
  const auto field = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52);
  return field > 0 ? field - 1023 : std::ilogb(magnitude);
}

// Returns x * 2^exponent. Tests spend much time in this file, and ldexp is several times slower than a
// product.
double scale(double x, int exponent) {
  if (exponent < -1022 || exponent > 1023) return std::ldexp(x, exponent);
  return x * std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Returns the exponent of the quantum of `format` at a nonzero finite magnitude.
int quantum_exponent(const FloatFormat& format, double magnitude) {
  return std::max(floor_log2(magnitude), format.min_exponent) - format.precision + 1;
}

}  // namespace

const FloatFormat* float_format(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return &kFloat;
    case ACL_FLOAT16: return &kFloat16;
    case ACL_BF16: return &kBfloat16;
    case ACL_DOUBLE: return &kDouble;
    default: return nullptr;
  }
}

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

int64_t element_bytes(aclDataType dtype) {
  switch (dtype) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8: return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16: return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32: return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
  }
}

double round_to(aclDataType dtype, double value) {
  const FloatFormat& format = *float_format(dtype);
  if (!std::isfinite(value) || value == 0) return value;
  const int quantum = quantum_exponent(format, std::fabs(value));
  const double rounded = scale(std::rint(scale(value, -quantum)), quantum);
  const double infinity = std::numeric_limits<double>::infinity();
  return std::fabs(rounded) >= format.overflow ? std::copysign(infinity, value) : rounded;
}

uint64_t encode(aclDataType dtype, double value) {
  if (dtype == ACL_BOOL) return value != 0 ? 1 : 0;
  const int64_t bytes = element_bytes(dtype);
  const FloatFormat* format = float_format(dtype);
  const uint64_t mask = bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
  if (format == nullptr) return static_cast<uint64_t>(static_cast<int64_t>(value)) & mask;

  const int fraction = format->precision - 1;
  const uint64_t infinity = ((uint64_t{1} << format->exponent_bits) - 1) << fraction;
  if (std::isnan(value)) return infinity | uint64_t{1} << (fraction - 1);
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (8 * bytes - 1) : 0;
  const double magnitude = std::fabs(round_to(dtype, value));
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  const int quantum = quantum_exponent(*format, magnitude);
  // In whole quanta; the hidden bit of a normal number increments the exponent field.
  const uint64_t quanta = static_cast<uint64_t>(scale(magnitude, -quantum));
  const uint64_t steps = static_cast<uint64_t>(quantum - (format->min_exponent - fraction));
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
  const uint64_t field = bits >> fraction & ((uint64_t{1} << format->exponent_bits) - 1);
  const uint64_t quanta = bits & ((uint64_t{1} << fraction) - 1);
  if (field == (uint64_t{1} << format->exponent_bits) - 1) {
    return quanta != 0 ? std::numeric_limits<double>::quiet_NaN()
                       : sign * std::numeric_limits<double>::infinity();
  }
  const int lowest = format->min_exponent - fraction;
  if (field == 0) return sign * scale(static_cast<double>(quanta), lowest);
  const uint64_t hidden = uint64_t{1} << fraction;
  return sign * scale(static_cast<double>(quanta + hidden), lowest + static_cast<int>(field) - 1);
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
