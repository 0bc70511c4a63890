/* Exists because host programs include it. It is empty, because openaclnn has no graph engine that could
 * return codes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_
#define OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_

/* ISO C requires at least one declaration, even if this header is compiled by itself. */
#include <stdint.h>
#endif /* OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_ */
