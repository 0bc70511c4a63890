/* The two-phase call of every operator, and the executors that carry a call from phase 1 to phase 2.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Phase 1, aclnnXxxGetWorkspaceSize(inputs, attributes, outputs, &workspaceSize, &executor), runs on the
 * host. It checks and copies the arguments and returns the workspace size in bytes that the task needs. It
 * reads no tensor data and needs no device or stream. You may destroy all argument objects once it has
 * returned. On failure it leaves both output values unchanged.
 *
 * Phase 2, aclnnXxx(workspace, workspaceSize, executor, stream), enqueues the task on the stream and returns.
 * It needs a current context. The device accesses the tensors later, in stream order. Results are valid after
 * you synchronise the stream; tensor memory and workspace must live until then. A phase 2 that fails has
 * written nothing. The exception: with OPENACLNN_BLOCKING=1 or OPENACLNN_CHECK=strict it waits for the task
 * and returns the task's 507035.
 *
 * Executors: phase 2 consumes the executor, even if it fails, unless it returns 561000 or 161001 for the
 * executor itself. After aclSetAclOpExecutorRepeatable the executor lives until aclDestroyAclOpExecutor and
 * can run any number of times. The two phases may run on different threads. Concurrent calls on one executor
 * are serialised.
 *
 * Codes of both phases of every operator. The operator's own header lists what it accepts.
 *   161001  phase 1: an output pointer or a required tensor is NULL. Phase 2: the executor, a required
 *           workspace, or the address of a tensor that the task accesses is NULL.
 *   161002  phase 1: a handle is stale; a dtype, shape, attribute or format is not accepted; an output
 *           overlaps itself. Phase 2: the executor belongs to another operator, workspaceSize is too small, an
 *           address is not aligned to its element size, or an output provably overlaps another tensor. Phase 2
 *           in strict mode: a tensor extends outside the memory that the library allocated.
 *   561000  phase 2: the executor was consumed or destroyed, or is not an executor. Phase 1: internal error.
 *   561101  phase 1: out of memory.
 *   561103  phase 1: an unexpected NULL inside the library.
 *   107002  phase 2: no current context.
 *   107003  phase 2: the stream belongs to another device than the current context.
 *   107017  phase 2: the stream is not live.
 *   361001  phase 2: the task cannot be enqueued.
 *   507035  a kernel found invalid data. The next synchronising call returns it (see acl/acl_rt.h); in strict
 *           or blocking mode phase 2 does.
 * openaclnn/status.h and acl/error_codes/rt_error_codes.h name the codes. aclGetRecentErrMsg in acl/acl_rt.h
 * returns the error messages.
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

/** Does nothing; exists because callers call it. @param configPath ignored. @return 0. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);

/** Does nothing; exists because callers call it. @return 0. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

/**
 * Allows an executor to run more than once. Call it between phase 1 and the first phase 2.
 *
 * @param executor a live executor. The caller owns it from now on and releases it with
 *         aclDestroyAclOpExecutor.
 * @return 0; 561000 executor is consumed, destroyed or foreign; 561103 executor is NULL.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);

/**
 * Destroys a repeatable executor, or a one-shot executor that never ran. Queued tasks have their own copy and
 * still run.
 *
 * @param executor a live executor. An executor that phase 2 consumed no longer exists: the call returns
 *         561000 and does no harm.
 * @return 0; 561000 executor is consumed, destroyed or foreign; 561103 executor is NULL.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);

/* ---- Addresses of a repeatable executor. Shapes and dtypes do not change; queued tasks keep their
 * addresses. ---- */

/**
 * Sets the address of a tensor parameter, in the executor and in the tensor object.
 *
 * @param executor a live executor.
 * @param index number of the tensor parameter, counting those that were not NULL in phase 1: inputs first,
 *         then outputs, each from left to right. A parameter that is updated in place counts as input and as
 *         output; setting either sets both.
 * @param tensor a live tensor object, not necessarily that of phase 1.
 * @param addr the new address, as tensorData of aclCreateTensor. NULL is stored; phase 2 then fails.
 * @return 0; 161002 tensor is stale, index is too large or refers to a list; 561000 executor is consumed,
 *         destroyed or foreign; 561103 executor or tensor is NULL. On failure nothing changes.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);

/**
 * Like aclSetTensorAddr, but index counts the inputs.
 *
 * @param executor, tensor, addr as in aclSetTensorAddr.
 * @param index number of the input, counting those that were not NULL.
 * @return as in aclSetTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);

/**
 * Like aclSetTensorAddr, but index counts the outputs.
 *
 * @param executor, tensor, addr as in aclSetTensorAddr.
 * @param index number of the output, counting those that were not NULL.
 * @return as in aclSetTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);

/**
 * Sets the address of one tensor of a list parameter, in the executor and in the tensor object. Only
 * operators of openaclnn/openaclnn.h have list parameters.
 *
 * @param executor a live executor.
 * @param irIndex number of the list parameter, counting tensors and lists like index of aclSetTensorAddr.
 * @param relativeIndex number of the tensor in the list.
 * @param tensors a live list, not necessarily that of phase 1. Its tensor at relativeIndex also receives the
 *         address.
 * @param addr the new address, as tensorData of aclCreateTensor. NULL is stored; phase 2 then fails.
 * @return 0; 161002 tensors or its tensor is stale, irIndex is too large or does not refer to a list, or
 *         relativeIndex is too large for the list of phase 1 or for tensors; 561000 executor is consumed,
 *         destroyed or foreign; 561103 executor or tensors is NULL. On failure nothing changes.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex, aclTensorList* tensors,
                                                        void* addr);

/**
 * Like aclSetDynamicTensorAddr, but irIndex counts the inputs.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as in aclSetDynamicTensorAddr.
 * @return as in aclSetDynamicTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);

/**
 * Like aclSetDynamicTensorAddr, but irIndex counts the outputs.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as in aclSetDynamicTensorAddr.
 * @return as in aclSetDynamicTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);

/**
 * The same as aclSetTensorAddr, under another name that callers use.
 *
 * @param executor, index, tensor, addr as in aclSetTensorAddr.
 * @return as in aclSetTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                                 aclTensor* tensor, void* addr);

/**
 * The same as aclSetInputTensorAddr.
 *
 * @param executor, index, tensor, addr as in aclSetInputTensorAddr.
 * @return as in aclSetInputTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                      aclTensor* tensor, void* addr);

/**
 * The same as aclSetOutputTensorAddr.
 *
 * @param executor, index, tensor, addr as in aclSetOutputTensorAddr.
 * @return as in aclSetOutputTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                                       aclTensor* tensor, void* addr);

/**
 * The same as aclSetDynamicTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as in aclSetDynamicTensorAddr.
 * @return as in aclSetDynamicTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                        const size_t relativeIndex, aclTensorList* tensors,
                                                        void* addr);

/**
 * The same as aclSetDynamicInputTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as in aclSetDynamicInputTensorAddr.
 * @return as in aclSetDynamicInputTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                             const size_t relativeIndex,
                                                             aclTensorList* tensors, void* addr);

/**
 * The same as aclSetDynamicOutputTensorAddr.
 *
 * @param executor, irIndex, relativeIndex, tensors, addr as in aclSetDynamicOutputTensorAddr.
 * @return as in aclSetDynamicOutputTensorAddr.
 */
ACL_FUNC_VISIBILITY aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex,
                                                              const size_t relativeIndex,
                                                              aclTensorList* tensors, void* addr);

/**
 * Writes tensors to files if the acl.json of aclInit asks for dumps. Otherwise it returns 0 and looks at no
 * argument. docs/porting.md describes acl.json and the folder, which has the layout of msprobe's dumps:
 *
 * - Call n of an opType, counted from 0, has the key "Aten.{opType}.{n}.forward" in dump.json. Characters of
 *   opType other than letters, digits, '_' and '-' become '_'. opName is the member "op_name".
 * - Tensor i is in the file {key}.input.{i}.npy or {key}.output.{i}.npy, in row-major order. BF16 has the NumPy
 *   dtype V2.
 *
 * The files contain the values after all work that was queued to the stream before the call. The call blocks
 * until they are written. A failure leaves no file of the call.
 *
 * @param opType type of the operator, 1 to 128 bytes.
 * @param opName its name; may be empty.
 * @param tensors the inputs, then the outputs. NULL for a tensor that an operator was not given. Ranks up to 8;
 *         dtypes that NumPy has, and BF16.
 * @param inputTensorNum, outputTensorNum together at most 65,536.
 * @param stream a stream of the current context, or NULL for its default stream.
 * @return 0; 161001 opType, opName, tensors or the data address of a tensor is NULL; 161002 another argument is
 *         not accepted, or a tensor is not live; 100004 a file cannot be written; 107000 a tensor exceeds its
 *         block of memory; 107002 this thread has no current context; 107003 stream belongs to another device;
 *         107017 stream is not live; 207000 stream is being captured into a CUDA graph; 207001 or 361001 no
 *         memory.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors,
                                                 size_t inputTensorNum, size_t outputTensorNum,
                                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNN_ACLNN_BASE_H_ */
