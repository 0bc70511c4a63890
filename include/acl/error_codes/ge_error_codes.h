/* Present because host programs include it; empty: there is no graph engine that could return codes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_
#define OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_

/* ISO C wants at least one declaration, also when this header is compiled by itself. */
#include <stdint.h>
#endif /* OPENACLNN_INCLUDE_ACL_ERROR_CODES_GE_ERROR_CODES_H_ */
