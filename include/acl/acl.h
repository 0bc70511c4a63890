/* The runtime header for host programs: devices, streams, events, memory and helpers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header declares nothing itself. acl_rt.h declares the functions, acl_base_rt.h the types and codes.
 * CANN functions that openaclnn does not implement (models, IPC, graphs, profiling, ...) are not declared. A
 * port that needs one of them therefore fails at compile time, not at run time.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_H_
#define OPENACLNN_INCLUDE_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#endif /* OPENACLNN_INCLUDE_ACL_ACL_H_ */
