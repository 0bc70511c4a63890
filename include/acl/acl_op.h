/* Exists because host programs include it. It declares nothing: aclnnop/ declares the operators.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_OP_H_
#define OPENACLNN_INCLUDE_ACL_ACL_OP_H_

#include "acl/acl_base.h"

#endif /* OPENACLNN_INCLUDE_ACL_ACL_OP_H_ */
