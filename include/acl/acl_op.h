/* Present because host programs include it; declares nothing: operators are in aclnnop/.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_OP_H_
#define OPENACLNN_INCLUDE_ACL_ACL_OP_H_

#include "acl/acl_base.h"

#endif /* OPENACLNN_INCLUDE_ACL_ACL_OP_H_ */
