// Number formats from their definition: precision and exponent range, with arithmetic in double. Slow, and written in another
// style than the library's conversions, which it judges.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"

namespace openaclnn_verify {

struct FloatFormat {
  int precision;     // bits of the significand, the hidden one included
  int min_exponent;  // of the smallest normal number
  int max_exponent;  // of the largest finite number
};

// nullptr for types that are not FLOAT, FLOAT16, BF16 or DOUBLE.
const FloatFormat* float_format(aclDataType dtype);

// "FLOAT16" for ACL_FLOAT16; "another dtype" for those that no operator accepts.
const char* dtype_name(aclDataType dtype);

// Bytes per element of every dtype that an operator accepts; 0 for others.
int64_t element_bytes(aclDataType dtype);

// The element's bits for a value: floating types round to nearest even with overflow to infinity and the canonical NaN,
// integer types truncate, BOOL is 0 or 1.
uint64_t encode(aclDataType dtype, double value);
double decode(aclDataType dtype, uint64_t bits);

// decode(encode(value)), for floating types.
double round_to(aclDataType dtype, double value);

// The distance between neighbouring numbers of the format around y.
double ulp(aclDataType dtype, double y);

// The error that the specification allows for `result`: half an ulp of it, plus c roundings of the sum of magnitudes.
long double allowed_error(aclDataType dtype, double result, long double c, long double sum_of_magnitudes);

}  // namespace openaclnn_verify
