/* Exists because host programs include it. It declares nothing: openaclnn runs operators, not models.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_BASE_MDL_H_
#define OPENACLNN_INCLUDE_ACL_ACL_BASE_MDL_H_

#include "acl/acl_base.h"

#endif /* OPENACLNN_INCLUDE_ACL_ACL_BASE_MDL_H_ */
