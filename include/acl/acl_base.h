/* Host helpers that need no device: the size of a dtype and conversions between float and half.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Types, enums and codes come from acl_base_rt.h. The functions here cannot fail and may be called from any
 * thread at any time.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_BASE_H_
#define OPENACLNN_INCLUDE_ACL_ACL_BASE_H_

#include "acl/acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the size of one element in bytes.
 *
 * @param dataType any value.
 * @return the size in bytes; 0 for ACL_STRING, for types smaller than a byte, for ACL_DT_UNDEFINED and for
 *         values that are not members of aclDataType.
 */
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

/**
 * Converts a float to half precision. Rounds to nearest, ties to even, and saturates instead of overflowing.
 *
 * @param value any value.
 * @return the bits of the half. Values that round above 65,504, +Inf and positive NaNs give 0x7BFF (65,504).
 *         Their negative counterparts give 0xFBFF. Magnitudes of at most half of the smallest subnormal
 *         (2^-25) give a zero with the sign of value. Operators convert differently: there overflow gives
 *         Inf, and NaN stays NaN.
 */
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

/**
 * Converts a half to float exactly. Exponent 31 counts as an ordinary exponent.
 *
 * @param value the bits of a half.
 * @return its value. No half is Inf or NaN here: 0x7C00 gives 65,536 and 0xFE00 gives -98,304. Operators
 *         convert differently.
 */
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACL_ACL_BASE_H_ */
