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
 * Gives the bytes of one element.
 *
 * @param dataType any value.
 * @return bytes; 0 for ACL_STRING, for types smaller than a byte, for ACL_DT_UNDEFINED and for values that
 *         are no aclDataType.
 */
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

/**
 * Rounds a float to half precision, to nearest with ties to even, and saturates instead of overflowing.
 *
 * @param value any value.
 * @return the bits of the half. Where the rounded value is too large, and for +Inf and NaN: 0x7BFF (65504);
 *         on the negative side 0xFBFF. At or below half of the smallest subnormal (2^-25): zero with the sign
 *         of value. Operators do not convert this way: there overflow gives Inf and NaN stays NaN.
 */
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

/**
 * Widens a half to float exactly, reading exponent 31 as an ordinary exponent.
 *
 * @param value the bits of a half.
 * @return its value. There is no Inf or NaN: 0x7C00 gives 65536 and 0xFE00 gives -98304. Operators do not
 *         convert this way.
 */
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACL_ACL_BASE_H_ */
