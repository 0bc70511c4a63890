// Number formats, implemented from their definition (precision and exponent range) with arithmetic in double.
// Slow, and written in another style than the library's conversions, which it checks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "acl/acl_base.h"

namespace openaclnn_verify {

struct FloatFormat {
  int precision;     // bits of the significand, including the hidden one
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest finite number
  int exponent_bits;
  double overflow;  // the smallest power of two that is not finite in the format
};

inline constexpr FloatFormat kFloatFormat = {24, -126, 127, 8, 0x1p128};
inline constexpr FloatFormat kFloat16Format = {11, -14, 15, 5, 0x1p16};
inline constexpr FloatFormat kBfloat16Format = {8, -126, 127, 8, 0x1p128};
inline constexpr FloatFormat kDoubleFormat = {53, -1022, 1023, 11, std::numeric_limits<double>::infinity()};

// Returns nullptr for types other than FLOAT, FLOAT16, BF16 and DOUBLE.
constexpr const FloatFormat* float_format(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT: return &kFloatFormat;
    case ACL_FLOAT16: return &kFloat16Format;
    case ACL_BF16: return &kBfloat16Format;
    case ACL_DOUBLE: return &kDoubleFormat;
    default: return nullptr;
  }
}

// Returns x * 2^exponent. Tests spend much time here, and ldexp is several times slower than a product.
inline double scale(double x, int exponent) {
  if (exponent < -1022 || exponent > 1023) return std::ldexp(x, exponent);
  return x * std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Returns "FLOAT16" for ACL_FLOAT16, and "another dtype" for types that no operator accepts.
const char* dtype_name(aclDataType dtype);

// Returns the bytes per element of every dtype that an operator accepts; 0 for others.
constexpr int64_t element_bytes(aclDataType dtype) {
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

// Returns the bits of a value. Floating-point types round to nearest even with overflow to infinity and the
// canonical NaN, integer types truncate, BOOL is 0 or 1.
uint64_t encode(aclDataType dtype, double value);
double decode(aclDataType dtype, uint64_t bits);

// Returns decode(encode(value)), for floating-point types.
double round_to(aclDataType dtype, double value);

// Returns the largest finite number of a floating-point type.
double largest_finite(aclDataType dtype);

// Returns the distance between neighbouring numbers of the format around y.
double ulp(aclDataType dtype, double y);

// Returns the error allowed for `result`: half an ulp of it, plus c roundings of the sum of magnitudes.
long double allowed_error(aclDataType dtype, double result, long double c, long double sum_of_magnitudes);

}  // namespace openaclnn_verify
