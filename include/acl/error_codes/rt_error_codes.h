/* Runtime error codes, as macros that also work in #if. The general codes are in acl/acl_base_rt.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * 107xxx: the caller passed a wrong argument or called functions in the wrong order. 207xxx: a resource is
 * missing. 507xxx: a task or the device failed. aclGetRecentErrMsg returns the error message.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ERROR_CODES_RT_ERROR_CODES_H_
#define OPENACLNN_INCLUDE_ACL_ERROR_CODES_RT_ERROR_CODES_H_

/* ISO C requires at least one declaration, even if this header is compiled by itself. */
#include <stdint.h>

#define ACL_RT_SUCCESS 0

#define ACL_ERROR_RT_PARAM_INVALID 107000            /* a value or range is not accepted */
#define ACL_ERROR_RT_INVALID_DEVICEID 107001         /* no device has this id */
#define ACL_ERROR_RT_CONTEXT_NULL 107002             /* no current context: call aclrtSetDevice first */
#define ACL_ERROR_RT_STREAM_CONTEXT 107003           /* the stream belongs to another device */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006  /* an event is not recorded, not timed or not complete */
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007 /* the end event precedes the start event */
#define ACL_ERROR_RT_INVALID_HANDLE 107017           /* destroyed, foreign, or of another kind */
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019             /* a wait timed out */
#define ACL_ERROR_RT_SYSPARAMOPT_NOT_SET 107021      /* the option was never set in this context */

#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000 /* not supported on this platform */
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001   /* out of memory */
#define ACL_ERROR_RT_MEMORY_FREE 207002         /* memory could not be released */
#define ACL_ERROR_RT_NO_DEVICE 207004           /* OPENACLNN_DEVICE=cuda, but no GPU is available */
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008  /* no more streams can be created */
#define ACL_ERROR_RT_DEVICE_OOM 207018          /* the device ran out of memory */

#define ACL_ERROR_RT_INTERNAL_ERROR 507000        /* internal error of the library */
#define ACL_ERROR_RT_STREAM_NOT_COMPLETE 507004   /* the stream still has tasks */
#define ACL_ERROR_RT_EVENT_NOT_COMPLETE 507006    /* the event has not been reached yet */
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015      /* a task failed on the device */
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035 /* a kernel found invalid tensor data */
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046   /* the wait timed out; nothing is cancelled */
#define ACL_ERROR_RT_EVENT_SYNC_TIMEOUT 507047    /* the wait timed out; nothing is cancelled */
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899    /* the device is lost, or fork() on CUDA */

#endif /* OPENACLNN_INCLUDE_ACL_ERROR_CODES_RT_ERROR_CODES_H_ */
