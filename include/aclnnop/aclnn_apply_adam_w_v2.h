/* The operator aclnnApplyAdamWV2: a step of AdamW with its hyperparameters as numbers and a tensor with the
 * step count.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, for every element, with t = step + 1. On the right-hand side var is the value before the step.
 * With maximize, grad is negated first.
 *
 *   m'   = beta1 * m + (1 - beta1) * grad
 *   v'   = beta2 * v + (1 - beta2) * grad * grad
 *   n    = v'                             amsgrad: n = max' = max(max, v')
 *   var' = var - lr * weightDecay * var - lr * (m' / (1 - beta1^t)) / (sqrt(n / (1 - beta2^t)) + eps)
 *
 * Sources, order of arithmetic, rounding, NaN and reproducibility are as in aclnn_apply_adam_w.h. beta^t is
 * computed in double by repeated squaring.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnApplyAdamWV2: checks the arguments and prepares the task. The rules of both phases are in
 * aclnn_base.h.
 *
 * The values of lr, the betas, weightDecay and eps are not checked: the formula applies to every value,
 * including Inf and NaN.
 *
 * @param varRef the parameter, FLOAT, FLOAT16 or BF16, any shape of rank 0 to 8, any strides; updated in
 *         place. If it is empty, there is nothing to do.
 * @param mRef first moment, with dtype and shape of varRef, stored without bias correction; updated in place.
 * @param vRef second moment, like mRef.
 * @param maxGradNormOptionalRef with amsgrad, the largest second moments so far, without bias correction;
 *         shape of varRef, dtype of varRef or of grad; updated in place. Without amsgrad it is not accessed
 *         and may be NULL.
 * @param grad the gradient, with the shape and dtype of varRef, or FLOAT16 or BF16 if varRef is FLOAT; not
 *         modified.
 * @param step the number of previous steps: 0 in the first step. INT64 or FLOAT, one element of any shape in
 *         device memory, read when the task runs. FLOAT values are truncated to whole numbers. Every value is
 *         accepted. Below 0 the formula follows IEEE arithmetic (-1 divides by zero), and NaN makes var NaN.
 * @param lr learning rate, e.g. 1e-3.
 * @param beta1 decay of the first moment, e.g. 0.9.
 * @param beta2 decay of the second moment, e.g. 0.999.
 * @param weightDecay the weight decay, e.g. 0.01.
 * @param eps added to the square root, e.g. 1e-8.
 * @param amsgrad whether the square root is taken of the largest second moment.
 * @param maximize whether the parameter moves along the gradient instead of against it.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor or a tensor is NULL (maxGradNormOptionalRef: only with amsgrad);
 *         161002 a tensor is stale, a dtype is not as above, a shape differs from varRef's, step does not
 *         have exactly one element, a rank is above 8, a format is private to NPUs, a ref overlaps itself, or
 *         OPENACLNN_LIMITS=vendor and a rank is 0; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWV2GetWorkspaceSize(aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                                                        aclTensor* maxGradNormOptionalRef,
                                                        const aclTensor* grad, const aclTensor* step,
                                                        float lr, float beta1, float beta2, float weightDecay,
                                                        float eps, bool amsgrad, bool maximize,
                                                        uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. varRef, mRef, vRef and, with amsgrad, maxGradNormOptionalRef hold
 * the results after you synchronise the stream. aclnnApplyAdamW accepts the same executors.
 *
 * Aliasing: no ref may overlap another tensor of the call. Addresses for aclSetTensorAddr: the tensors in the
 * order of phase 1, without those that were NULL; as outputs in this order: varRef, mRef, vRef,
 * maxGradNormOptionalRef.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 only in strict
 *         mode: the truncated step is below 0, or step is NaN; nothing is written. No other tensor data is a
 *         FAULT.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H_ */
