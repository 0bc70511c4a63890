/* Names of the codes that aclnn functions return, as macros. This header is an extension that no other
 * includes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The aclnn headers do not contain these names, so programs can define their own. Phase 2 and the functions
 * that take a stream also return runtime codes: see acl/error_codes/rt_error_codes.h. aclGetRecentErrMsg in
 * acl/acl_rt.h returns the error messages.
 */
#ifndef OPENACLNN_INCLUDE_OPENACLNN_STATUS_H_
#define OPENACLNN_INCLUDE_OPENACLNN_STATUS_H_

#include "acl/acl_base_rt.h" /* aclnnStatus */

#define ACLNN_SUCCESS 0

#define ACLNN_ERR_PARAM_NULLPTR 161001 /* a required pointer, tensor, address or workspace is NULL */
#define ACLNN_ERR_PARAM_INVALID 161002 /* an argument is not accepted, or its handle is stale */
#define ACLNN_ERR_RUNTIME_ERROR 361001 /* the task cannot be enqueued */
#define ACLNN_ERR_INNER 561000         /* the executor is not live, or an internal error */

/* Operators never return the next three. Stubs of missing operators in drop-in libraries return 561003. */
#define ACLNN_ERR_INNER_INFERSHAPE_ERROR 561001
#define ACLNN_ERR_INNER_TILING_ERROR 561002
#define ACLNN_ERR_INNER_FIND_KERNEL_ERROR 561003

#define ACLNN_ERR_INNER_CREATE_EXECUTOR 561101    /* phase 1 could not allocate */
#define ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR 561102 /* never returned */
#define ACLNN_ERR_INNER_NULLPTR 561103            /* a NULL executor or tensor in an executor function */

#endif /* OPENACLNN_INCLUDE_OPENACLNN_STATUS_H_ */
