/* The operator aclnnApplyAdamW: a step of AdamW with its hyperparameters as tensors in device memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, for every element. On the right-hand side var is the value before the step. With maximize, grad is
 * negated first.
 *
 *   m'   = beta1 * m + (1 - beta1) * grad
 *   v'   = beta2 * v + (1 - beta2) * grad * grad
 *   n    = v'                             amsgrad: n = max(maxGradNorm, v')
 *   var' = var - lr * weightDecay * var - lr * (m' / (1 - beta1^t)) / (sqrt(n / (1 - beta2^t)) + eps)
 *
 * where beta1^t = beta1Power * beta1 and beta2^t = beta2Power * beta2: the powers are those of the previous
 * step.
 *
 * Sources: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019); amsgrad: Reddi, Kale and
 * Kumar, "On the Convergence of Adam and Beyond" (2018). This project defines the order of arithmetic.
 *
 * Arithmetic: coefficients are computed in double and rounded once to float: 1-b1, b2, 1-b2, eps, decay = 1 -
 * lr*weightDecay, step = lr/(1 - beta1^t) and scale = 1/sqrt(1 - beta2^t). Elements are computed in float.
 * Each operation is rounded separately, never fused, in this order:
 *
 *   m' = m + ((g - m)*(1-b1))                  v' = (b2*v) + ((g*g)*(1-b2))
 *   n  = v', or the larger of maxGradNorm and v', v' if they are equal, NaN when either is
 *   var' = (decay*var) - ((step*m') / ((sqrt(n)*scale) + eps))
 *
 * FLOAT16 and BF16 are widened exactly. Later operations use the unrounded m', v' and n. Each result is
 * rounded once, to nearest even. Inf and NaN follow from the operations; every NaN is stored as the canonical
 * quiet NaN. The bits are the same on every device, for any number of threads, and if a tensor is split over
 * several calls.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnApplyAdamW: checks the arguments and prepares the task. The rules of both phases are in
 * aclnn_base.h.
 *
 * The seven hyperparameters are tensors of one element, with any shape, in device memory, of varRef's dtype.
 * The task reads them when it runs. Their values are not checked: the formula applies to every value,
 * including Inf and NaN.
 *
 * @param varRef the parameter, FLOAT, FLOAT16 or BF16, any shape of rank 0 to 8, any strides; updated in
 *         place. If it is empty, there is nothing to do.
 * @param mRef first moment, with dtype and shape of varRef, stored without bias correction; updated in place.
 * @param vRef second moment, like mRef. With amsgrad it becomes n, the larger of maxGradNormOptional and the
 *         new second moment.
 * @param beta1Power beta1^(t-1): 1 in the first step. The caller multiplies it by beta1 after each step.
 * @param beta2Power beta2^(t-1), like beta1Power.
 * @param lr learning rate, e.g. 1e-3.
 * @param weightDecay the weight decay, e.g. 0.01.
 * @param beta1 decay of the first moment, e.g. 0.9.
 * @param beta2 decay of the second moment, e.g. 0.999.
 * @param eps added to the square root, e.g. 1e-8.
 * @param grad the gradient, with dtype and shape of varRef; not modified.
 * @param maxGradNormOptional with amsgrad, the largest second moments so far, with dtype and shape of varRef;
 *         not modified. Without amsgrad it is not read and may be NULL.
 * @param amsgrad whether the square root is taken of the largest second moment.
 * @param maximize whether the parameter moves along the gradient instead of against it.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor or a tensor is NULL (maxGradNormOptional: only with amsgrad);
 *         161002 a tensor is stale, a dtype is not as above, a shape differs from varRef's, a hyperparameter
 *         does not have exactly one element, a rank is above 8, a format is private to NPUs, a ref overlaps
 *         itself, or OPENACLNN_LIMITS=vendor and a rank is 0; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWGetWorkspaceSize(
    aclTensor* varRef, aclTensor* mRef, aclTensor* vRef, const aclTensor* beta1Power,
    const aclTensor* beta2Power, const aclTensor* lr, const aclTensor* weightDecay, const aclTensor* beta1,
    const aclTensor* beta2, const aclTensor* eps, const aclTensor* grad, const aclTensor* maxGradNormOptional,
    bool amsgrad, bool maximize, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. varRef, mRef and vRef hold the results after you synchronise the
 * stream. No tensor data is a FAULT. aclnnApplyAdamWV2 accepts the same executors.
 *
 * Aliasing: no ref may overlap another tensor of the call. Addresses for aclSetTensorAddr: the tensors in the
 * order of phase 1, without those that were NULL; as outputs 0 to 2: varRef, mRef, vRef.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamW(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_H_ */
