/* The operators aclnnGroupedBiasAddGrad and aclnnGroupedBiasAddGradV2: the gradient of a bias that is
 * separate for each group of rows, such as the experts of a mixture.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with the rows of gradY in order. e(j) is the first row after group j, and e(-1) = 0:
 *
 *   e(j) = groupIdx[j]                          groupIdxType 0: the end of each group
 *   e(j) = groupIdx[0] + ... + groupIdx[j]      groupIdxType 1: the size of each group
 *   e(j) = (j + 1) * C                          without groupIdx, gradY being [G, C, H]
 *
 *   out[j, h] = sum of gradY[i, h] over e(j-1) <= i < e(j)
 *
 * Source: the derivative of y[i, :] = x[i, :] + bias[j, :] for the rows i of group j.
 *
 * Arithmetic: the rows of a group are added in ascending order. Blocks of 64 rows are added in float from
 * left to right, starting at 0. The sums of 8 blocks are added the same way. These superblock sums are added
 * in double from left to right, rounded to float and then to the dtype of out, to nearest even. Every NaN is
 * stored as the canonical quiet NaN. The bits are the same on every device and for any number of threads. The
 * bits of a group depend on its own rows only.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_GROUPED_BIAS_ADD_GRAD_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_GROUPED_BIAS_ADD_GRAD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnGroupedBiasAddGrad: like aclnnGroupedBiasAddGradV2GetWorkspaceSize with groupIdxType 0.
 */
ACLNN_API aclnnStatus aclnnGroupedBiasAddGradGetWorkspaceSize(const aclTensor* gradY,
                                                              const aclTensor* groupIdxOptional,
                                                              aclTensor* out, uint64_t* workspaceSize,
                                                              aclOpExecutor** executor);

/**
 * Phase 2 of aclnnGroupedBiasAddGrad: the same function as aclnnGroupedBiasAddGradV2. Each accepts the
 * executors of both.
 */
ACLNN_API aclnnStatus aclnnGroupedBiasAddGrad(void* workspace, uint64_t workspaceSize,
                                              aclOpExecutor* executor, aclrtStream stream);

/**
 * Phase 1 of aclnnGroupedBiasAddGradV2: checks the arguments and prepares the task. The rules of both phases
 * are in aclnn_base.h.
 *
 * @param gradY the gradient of the biased rows, FLOAT, FLOAT16 or BF16: [R, H] with groupIdxOptional, [G, C,
 *         H] without. If it is empty, out becomes zeros and groupIdxOptional is not read.
 * @param groupIdxOptional the positions of the groups, [G], INT32 or INT64 in device memory, read when the
 *         task runs. NULL means G groups of C rows each. An empty group (equal ends, or size 0) gets a row of
 *         zeros. Rows after the last group are ignored (strict mode: FAULT).
 * @param groupIdxType 0: groupIdxOptional holds the end row of each group; 1: it holds their sizes. Must be 0
 *         or 1 even if groupIdxOptional is NULL.
 * @param out the gradient of the biases, [G, H], of gradY's dtype; fully written. If it is empty, there is
 *         nothing to do.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, gradY or out is NULL; 161002 a tensor is stale, a dtype or shape
 *         is not as above, groupIdxType is neither 0 nor 1, a rank is above 8, a format is private to NPUs,
 *         or out overlaps itself; with OPENACLNN_LIMITS=vendor also G above 2048 with groupIdxOptional;
 *         561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnGroupedBiasAddGradV2GetWorkspaceSize(const aclTensor* gradY,
                                                                const aclTensor* groupIdxOptional,
                                                                int64_t groupIdxType, aclTensor* out,
                                                                uint64_t* workspaceSize,
                                                                aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. out is valid after you synchronise the stream.
 *
 * FAULT: an entry of groupIdxOptional that is negative, an end below the previous end or above R, or a size
 * that makes the sum exceed R. Nothing is written then. The next synchronising call returns 507035 with the
 * first faulty entry, its value, the limit and the count.
 *
 * Aliasing: out must not overlap gradY or groupIdxOptional. Addresses for aclSetTensorAddr: 0 gradY, 1
 * groupIdxOptional, 2 out; without groupIdxOptional 0 gradY, 1 out.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 a FAULT
 *         (returned by phase 2 only in strict or blocking mode).
 */
ACLNN_API aclnnStatus aclnnGroupedBiasAddGradV2(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_GROUPED_BIAS_ADD_GRAD_H_ */
