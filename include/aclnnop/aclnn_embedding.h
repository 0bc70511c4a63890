/* The operator aclnnEmbedding: gathers rows of a table.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula: out[i..., :] = weight[indices[i...], :].
 *
 * Source: the definition of a table lookup. Rows are copied bit by bit, including NaN payloads.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnEmbedding: checks the arguments and prepares the task. The rules of both phases are in
 * aclnn_base.h.
 *
 * @param weight the table, [V, D]: V rows of D elements; DOUBLE, FLOAT, FLOAT16, BF16, INT64, INT32, INT16,
 *         INT8, UINT8, BOOL, COMPLEX64 or COMPLEX128.
 * @param indices row numbers from 0 to V-1, INT32 or INT64 in device memory, any shape of rank 0 to 7; read
 *         when the task runs.
 * @param out the gathered rows, with the shape of indices followed by D and the dtype of weight; written,
 *         despite the const. If it is empty, there is nothing to do.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, weight, indices or out is NULL; 161002 a tensor is stale, a
 *         dtype or shape is not as above, a rank is above 8, a format is private to NPUs, or out overlaps
 *         itself; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor* weight, const aclTensor* indices,
                                                     const aclTensor* out, uint64_t* workspaceSize,
                                                     aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. out is valid after you synchronise the stream.
 *
 * FAULT: an index below 0 or above V-1. The row of out becomes zero and all other rows are exact. The next
 * synchronising call returns 507035 with the first faulty position, its value, V and the count. Strict mode:
 * nothing is written.
 *
 * Aliasing: out must not overlap weight or indices. Addresses for aclSetTensorAddr: 0 weight, 1 indices, 2
 * out.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 a FAULT
 *         (returned by phase 2 only in strict or blocking mode).
 */
ACLNN_API aclnnStatus aclnnEmbedding(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                     const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H_ */
