/* The one header a host program includes for the runtime: devices, streams, events, memory, helpers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It declares nothing itself; see acl_rt.h for the functions and acl_base_rt.h for types and codes. Functions
 * of the wider interface that openaclnn does not implement (models, IPC, graphs, profiling, ...) are not
 * declared, so that a port that needs one fails when it is compiled and not when it runs.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_H_
#define OPENACLNN_INCLUDE_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#endif /* OPENACLNN_INCLUDE_ACL_ACL_H_ */
