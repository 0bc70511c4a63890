/* What CANN's interface lacks: functions that exist in openaclnn only, in the same two-phase form.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They follow all rules of aclnn_base.h: phases, executors, streams, order of checks, codes, sentences. Programs
 * that must also run on CANN do not include this header.
 */
#ifndef OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_
#define OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "openaclnn/apply_fused_ema_adam_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What this process works with ---- */

/**
 * Describes the library and what it found: a JSON object with the members
 *
 *   version            of the library, "0.1.0"
 *   platform           "cpu", "cuda", or "none"
 *   devices            how many devices there are, deviceNames their products, whyNone the reason when there is none
 *   whyNoCuda          the reason why a GPU is not used, empty with platform "cuda"
 *   threads            that compute on the CPU
 *   memory             of the host: free and total bytes, of the machine or of the smallest limit of the process's
 *                      control groups (cgroups), versions 1 and 2; null where neither can be read
 *   cpuQuota           CPUs that these groups allow, 0 without a quota, null where that cannot be read
 *   instructionSet     of the kernels; instructionSets: all that were built, whether available on this machine
 *   environment        each variable that the library reads: name, accepted, given, inForce, understood
 *   operators          the names of the operators
 *
 * Later versions may have more members.
 *
 * @param text receives as much of the text as fits, always with a terminating 0; may be NULL when capacity is 0.
 * @param capacity bytes at `text`.
 * @param length receives the number of bytes of the whole text without the 0; may be NULL.
 * @return 0; 161001 text is NULL but capacity is not 0; 561101 no memory.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnDescribe(char* text, uint64_t capacity, uint64_t* length);

/* ---- Memory ---- */

/**
 * Returns freed memory of all devices to the system. The library keeps freed blocks for the next allocation, because
 * the first write to new memory is slow: on the CPU up to an eighth of the machine's memory or of the cgroup's limit,
 * on GPUs until the driver has no memory left. The next allocations after this call are slow again.
 *
 * Blocks in use keep their memory, and so do freed blocks that queued tasks still use. On the CPU, blocks of at most
 * 8 KiB share slabs of 64 KiB; a slab with one block in use stays. The call does not wait for tasks on the CPU. On a
 * GPU, CUDA may wait for all work of the device, and no stream may be capturing.
 *
 * Needs no context. The counterpart of PyTorch's empty_cache().
 *
 * @return 0; 207004 there is no device; 507899 see acl/acl_rt.h.
 */
ACL_FUNC_VISIBILITY aclError openaclnnReleaseMemory(void);

/* ---- Libraries that stand in for others ---- */

/**
 * Refuses a call of a function that openaclnn does not have: adds a sentence with its name to the calling thread's error
 * text. For libraries that must have the name all the same, as those of cann-compat/lib64.
 *
 * @param function its name, copied; NULL stands for an unknown one.
 * @return 561003, for the caller to pass on.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnReportMissing(const char* function);

/* ---- Streams of CUDA ---- */

/**
 * Makes a stream handle over a stream that the program made with CUDA, such as PyTorch's current stream, so that
 * operators run in its order without any synchronisation in between. The stream may be capturing into a CUDA
 * graph: everything that is enqueued then becomes part of the graph; memory of such tasks must live as long as
 * the graph, faults of its runs are reported by the next synchronise after the capture, and strict or blocking
 * mode, which wait for every task, are refused (207000).
 *
 * The native stream must belong to the current context's device and live longer than the handle, which
 * aclrtDestroyStream ends: that waits for the work of the stream and leaves the native stream as it is.
 *
 * @param nativeStream a cudaStream_t. NULL: the default stream of CUDA. cudaStreamPerThread is refused, for on each
 *        thread it is another stream. Other values are not checked.
 * @param stream receives the handle.
 * @return 0; 100000 stream is NULL; 107002 no current context; 207000 the platform is the CPU, which has no such
 *         streams, or cudaStreamPerThread; 207001 no memory; 207008 every stream number is in use; 507899 see acl/acl_rt.h.
 */
ACL_FUNC_VISIBILITY aclError openaclnnCreateStreamFromNative(void* nativeStream, aclrtStream* stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_ */
