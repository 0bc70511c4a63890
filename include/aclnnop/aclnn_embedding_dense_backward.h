/* The operator aclnnEmbeddingDenseBackward: the gradient of a table lookup with respect to the table.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with grad as N rows of D elements and indices as N numbers, both in row-major order. S(w) is the
 * set of positions n with indices[n] = w, c(w) is its size, and V = numWeights:
 *
 *   out[w, :] = 0                                                    where w = paddingIdx or c(w) = 0
 *             = (sum of grad[n, :] over S(w)) * (scaleGradByFreq ? 1/c(w) : 1)   elsewhere
 *
 * Source: the derivative of out[n, :] = weight[indices[n], :].
 *
 * Arithmetic: the rows of S(w) are added in ascending n. Blocks of 64 rows are added in float from left to
 * right, starting at 0. The sums of 8 blocks are added the same way. These superblock sums are added in
 * double from left to right and rounded once to float. Scaling multiplies that float by the float quotient 1
 * / c(w). A last rounding to nearest even gives the dtype of out; every NaN is stored as the canonical quiet
 * NaN. The bits are the same on every device and for any number of threads. The bits of a row depend on its
 * own terms only.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_DENSE_BACKWARD_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_DENSE_BACKWARD_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnEmbeddingDenseBackward: checks the arguments and prepares the task. The rules of both
 * phases are in aclnn_base.h.
 *
 * @param grad the gradient of the lookup's result, [..., D] of rank 1 to 8, FLOAT, FLOAT16 or BF16. N is the
 *         product of all dims but the last.
 * @param indices the indices of the lookup, any shape of N elements (any number if D is 0); FLOAT, FLOAT16,
 *         DOUBLE, INT8, UINT8, INT16, INT32, INT64 or BOOL in device memory, read when the task runs.
 *         Floating-point values are truncated toward zero; BOOL counts as 0 or 1.
 * @param numWeights V, the number of rows of the table.
 * @param paddingIdx a row that gets no gradient. Negative values as int64 (-1), and values of at least V,
 *         mean no such row.
 * @param scaleGradByFreq whether to divide each row by the number of its occurrences in indices.
 * @param out the gradient of the table, [V, D], FLOAT, FLOAT16 or BF16, not necessarily grad's dtype; fully
 *         written, despite the const. If it is empty, there is nothing to do, and indices are not read.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, grad, indices or out is NULL; 161002 a tensor is stale, a dtype
 *         or shape is not as above, a rank is above 8, a format is private to NPUs, or out overlaps itself;
 *         561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(
    const aclTensor* grad, const aclTensor* indices, uint64_t numWeights, uint64_t paddingIdx,
    bool scaleGradByFreq, const aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. out is valid after you synchronise the stream.
 *
 * FAULT: an index below 0 or above V-1, NaN, Inf, or a magnitude of at least 2^63. This includes indices that
 * equal a paddingIdx outside the table. Such positions are skipped and not counted in c(w). All rows are
 * exact over the other positions. The next synchronising call returns 507035 with the first faulty position,
 * its value, V and the count. Strict mode: nothing is written.
 *
 * Aliasing: out must not overlap grad or indices. Addresses for aclSetTensorAddr: 0 grad, 1 indices, 2 out.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 a FAULT
 *         (returned by phase 2 only in strict or blocking mode).
 */
ACLNN_API aclnnStatus aclnnEmbeddingDenseBackward(void* workspace, uint64_t workspaceSize,
                                                  aclOpExecutor* executor, const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_DENSE_BACKWARD_H_ */
