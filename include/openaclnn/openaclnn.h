/* Functions that exist only in openaclnn, not in CANN. Operators among them have the same two phases.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They follow all rules of aclnn_base.h: phases, executors, streams, order of checks, codes and error
 * messages. Programs that must also run on CANN do not include this header.
 */
#ifndef OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_
#define OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "openaclnn/apply_fused_ema_adam_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What this process uses ---- */

/**
 * Describes the library and the system that it found, as a JSON object with these members:
 *
 *   version            of the library, "0.1.0"
 *   platform           "cpu", "cuda", or "none"
 *   devices            the number of devices; deviceNames: their product names; whyNone: why there are none
 *   whyNoCuda          why no GPU is used; empty if platform is "cuda"
 *   threads            the number of threads that compute on the CPU
 *   memory             free and total bytes of the host: of the machine, or of the smallest limit of the
 *                      process's control groups (cgroups, versions 1 and 2); null if neither can be read
 *   cpuQuota           CPUs that these groups allow; 0 without a quota; null if it cannot be read
 *   instructionSet     the instruction set of the kernels; instructionSets: all that were built, and whether
 *                      this machine has them
 *   environment        each variable that the library reads: name, accepted, given, inForce, understood
 *   operators          the names of the operators
 *
 * Later versions may add members.
 *
 * @param text receives as much of the text as fits, always with a terminating 0; may be NULL if capacity is
 *         0.
 * @param capacity the size of text in bytes.
 * @param length receives the length of the whole text in bytes, without the 0; may be NULL.
 * @return 0; 161001 text is NULL but capacity is not 0; 561101 out of memory.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnDescribe(char* text, uint64_t capacity, uint64_t* length);

/* ---- Memory ---- */

/**
 * Returns freed memory of all devices to the system. The library caches freed blocks for later allocations,
 * because the first write to new memory is slow. On the CPU the cache holds at most an eighth of the
 * machine's memory or of the cgroup's limit. On GPUs it grows until the driver has no memory left. The next
 * allocations after this call are slow again.
 *
 * Blocks in use keep their memory, as do freed blocks that queued tasks still use. On the CPU, blocks of at
 * most 8 KiB share slabs of 64 KiB; a slab stays while one of its blocks is in use. The call does not wait
 * for tasks on the CPU. On a GPU, CUDA may wait for all work of the device, and no stream may be capturing.
 *
 * Needs no context. The counterpart of PyTorch's empty_cache().
 *
 * @return 0; 207004 there is no device; 507899 see acl/acl_rt.h.
 */
ACL_FUNC_VISIBILITY aclError openaclnnReleaseMemory(void);

/* ---- Stub libraries ---- */

/**
 * Reports a call of a function that openaclnn does not have: adds an error message with its name to the
 * calling thread's messages. Only for libraries that must export the name, such as those of
 * cann-compat/lib64.
 *
 * @param function its name, which is copied; NULL means an unknown function.
 * @return 561003, which the caller returns.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnReportMissing(const char* function);

/* ---- CUDA streams ---- */

/**
 * Creates a stream handle for a stream that the program created with CUDA, such as PyTorch's current stream.
 * Operators then run in that stream's order, with no synchronisation in between. The stream may be capturing
 * into a CUDA graph: everything enqueued then becomes part of the graph. Memory of such tasks must live as
 * long as the graph. The next synchronising call after the capture reports FAULTs of its runs. Strict and
 * blocking mode wait for every task, so they are rejected (207000) during a capture.
 *
 * The native stream must belong to the current context's device and outlive the handle. aclrtDestroyStream
 * ends the handle: it waits for the stream's tasks and does not destroy the native stream.
 *
 * @param nativeStream a cudaStream_t. NULL means the default stream of CUDA. cudaStreamPerThread is rejected,
 *         because it denotes a different stream on each thread. Other values are not checked.
 * @param stream receives the handle.
 * @return 0; 100000 stream is NULL; 107002 no current context; 207000 the platform is the CPU, which has no
 *         native streams, or nativeStream is cudaStreamPerThread; 207001 out of memory; 207008 all stream
 *         numbers are in use; 507899 see acl/acl_rt.h.
 */
ACL_FUNC_VISIBILITY aclError openaclnnCreateStreamFromNative(void* nativeStream, aclrtStream* stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_OPENACLNN_OPENACLNN_H_ */
