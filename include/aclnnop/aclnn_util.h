/* Defines ACLNN_API, which marks the functions of operators as exported. Every operator header includes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_UTIL_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_UTIL_H_

/* ISO C requires at least one declaration, even if this header is compiled by itself. */
#include <stdint.h>

#ifndef ACLNN_API
#if defined(__GNUC__)
#define ACLNN_API __attribute__((visibility("default")))
#else
#define ACLNN_API
#endif
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_UTIL_H_ */
