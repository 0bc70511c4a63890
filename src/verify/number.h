// Number formats, implemented from their definition (precision and exponent range) with arithmetic in double.
// Slow, and written in another style than the library's conversions, which it checks.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"

namespace openaclnn_verify {

struct FloatFormat {
  int precision;     // bits of the significand, including the hidden one
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest finite number
  int exponent_bits;
  double overflow;  // the smallest power of two that is not finite in the format
};

// Returns nullptr for types other than FLOAT, FLOAT16, BF16 and DOUBLE.
const FloatFormat* float_format(aclDataType dtype);

// Returns "FLOAT16" for ACL_FLOAT16, and "another dtype" for types that no operator accepts.
const char* dtype_name(aclDataType dtype);

// Returns the bytes per element of every dtype that an operator accepts; 0 for others.
int64_t element_bytes(aclDataType dtype);

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
