/* How every operator is called, and the executors that carry a call from its first phase to its second.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Phase 1, aclnnXxxGetWorkspaceSize(inputs, attributes, outputs, &workspaceSize, &executor), runs on the
 * host. It checks the arguments, copies what it needs, and says how many bytes of device scratch the task
 * wants. It reads no tensor data and needs no device or stream. All arguments may be destroyed once it
 * returned. When it fails, both out values stay as they were.
 *
 * Phase 2, aclnnXxx(workspace, workspaceSize, executor, stream), puts the task into the stream and returns.
 * The device reads and writes tensors later, in stream order: results are valid after a synchronise, and
 * until then tensor memory and workspace must live. It needs a current context. A phase 2 that fails wrote
 * nothing (only OPENACLNN_BLOCKING=1 and OPENACLNN_CHECK=strict make it wait for the task and return the
 * task's 507035).
 *
 * Executors: one phase 2 consumes the executor, also when it fails, except for the codes 561000 and 161001 of
 * the executor itself. After aclSetAclOpExecutorRepeatable it lives until aclDestroyAclOpExecutor and may run
 * any number of times. The two phases may run on different threads; concurrent calls on one executor are
 * serialised.
 *
 * Codes of both phases of every operator; its own header says what exactly it accepts:
 *   161001  phase 1: an out pointer or a required tensor is NULL. Phase 2: the executor, a workspace that is
 *           needed, or the address of a tensor that the task accesses is NULL.
 *   161002  phase 1: a stale handle; a dtype, shape, attribute or format that is not accepted; an output that
 *           overlaps itself. Phase 2: an executor of another operator, workspaceSize too small, an address
 *           not aligned to its element, an output that provably overlaps another tensor; strict mode: bytes
 *           outside the memory that the library allocated.
 *   561000  phase 2: the executor is consumed, destroyed or none. Phase 1: an error of the library itself.
 *   561101  phase 1: no memory.
 *   561103  phase 1: an unexpected NULL inside the library.
 *   107002  phase 2: no current context.
 *   107003  phase 2: the stream is of another device than the current context.
 *   107017  phase 2: the stream is not live.
 *   361001  phase 2: the task cannot be queued.
 *   507035  a kernel met bad data. It comes from the next synchronise, see acl/acl_rt.h; in strict or
 *           blocking mode from phase 2.
 * Names: openaclnn/status.h and acl/error_codes/rt_error_codes.h. Sentences: aclGetRecentErrMsg in
 * acl/acl_rt.h.
 */
#ifndef OPENACLNN_INCLUDE_ACLNN_ACLNN_BASE_H_
#define OPENACLNN_INCLUDE_ACLNN_ACLNN_BASE_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Present because callers call it; does nothing. @param configPath ignored. @return 0. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);

/** Present because callers call it; does nothing. @return 0. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

/**
 * Lets an executor run more than once. Always possible; to be called between phase 1 and the first phase 2.
 *
 * @param executor a live executor. From now on the caller owns it: aclDestroyAclOpExecutor.
 * @return 0; 561000 it is consumed, destroyed or foreign; 561103 it is NULL.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);

/**
 * Frees a repeatable executor, or a one-shot that never ran. Tasks already in a stream have their own copy
 * and still run.
 *
 * @param executor a live executor. One that a phase 2 consumed is gone already: 561000, harmless.
 * @return 0; 561000 it is consumed, destroyed or foreign; 561103 it is NULL.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);

/* ---- Addresses of an executor that runs again. Shapes and dtypes stay; queued tasks keep theirs. ---- */

/**
 * Sets the address of a tensor parameter, in the executor and in the tensor object.
 *
 * @param executor a live executor.
 * @param index counts the tensor parameters that were not NULL in phase 1: inputs first, then outputs, each
 *         from left to right. A parameter that is updated in place counts as input and as output; setting
 *         either sets both.
 * @param tensor a live tensor object, not necessarily the one of phase 1.
 * @param addr the new tensorData of aclCreateTensor. NULL is stored; phase 2 reports it.
 * @return 0; 161002 tensor is stale, index is too large or names a list; 561000 executor is consumed, destroyed
 *         or foreign; 561103 executor or tensor is NULL. Nothing changes on failure.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);

/**
 * As aclSetTensorAddr, counting within the inputs.
 *
 * @param executor, tensor, addr as there.
 * @param index counts the inputs that were not NULL.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);

/**
 * As aclSetTensorAddr, counting within the outputs.
 *
 * @param executor, tensor, addr as there.
 * @param index counts the outputs that were not NULL.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);

/**
 * Sets the address of one tensor of a list parameter, in the executor and in the tensor object. Only operators of
 * openaclnn/openaclnn.h have such parameters.
 *
 * @param executor a live executor.
 * @param irIndex the list parameter. It counts as index of aclSetTensorAddr does: tensors and lists together.
 * @param relativeIndex the tensor in the list.
 * @param tensors a live list, not necessarily the one of phase 1; its tensor number relativeIndex gets the
 *         address too.
 * @param addr the new tensorData of aclCreateTensor. NULL is stored; phase 2 reports it.
 * @return 0; 161002 tensors or its tensor is stale, irIndex is too large or names no list, or relativeIndex is too
 *         large for the list of phase 1 or for tensors; 561000 executor is consumed, destroyed or foreign; 561103
 *         executor or tensors is NULL. Nothing changes on failure.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex, aclTensorList* tensors,
                                                        void* addr);

/**
 * As aclSetDynamicTensorAddr, counting within the inputs.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);

/**
 * As aclSetDynamicTensorAddr, counting within the outputs.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);

/**
 * The same as aclSetTensorAddr, by the name that some callers use.
 *
 * @param executor, index, tensor, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);

/**
 * The same as aclSetInputTensorAddr.
 *
 * @param executor, index, tensor, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);

/**
 * The same as aclSetOutputTensorAddr.
 *
 * @param executor, index, tensor, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);

/**
 * The same as aclSetDynamicTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex, aclTensorList* tensors,
                                                        void* addr);

/**
 * The same as aclSetDynamicInputTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);

/**
 * The same as aclSetDynamicOutputTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);

/**
 * Present because callers call it; does nothing. OPENACLNN_DUMP is the way to write tensors to files.
 *
 * @param opType, opName, tensors, inputTensorNum, outputTensorNum, stream ignored.
 * @return 0.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors,
                                                 size_t inputTensorNum, size_t outputTensorNum,
                                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNN_ACLNN_BASE_H_ */
