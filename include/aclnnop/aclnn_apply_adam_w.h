/* The operator aclnnApplyAdamW: a step of AdamW whose numbers are tensors in device memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, for every element; var is the value before the step where it stands on the right, and grad is -grad
 * with maximize:
 *
 *   m'   = beta1 * m + (1 - beta1) * grad
 *   v'   = beta2 * v + (1 - beta2) * grad * grad
 *   n    = v'                             amsgrad: n = max(maxGradNorm, v')
 *   var' = var - lr * weightDecay * var - lr * (m' / (1 - beta1^t)) / (sqrt(n / (1 - beta2^t)) + eps)
 *
 * with beta1^t = beta1Power * beta1 and beta2^t = beta2Power * beta2: the powers are those of the steps before.
 *
 * Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019); amsgrad: Reddi, Kale and Kumar, "On
 * the Convergence of Adam and Beyond" (2018). The order of arithmetic is this project's.
 *
 * Arithmetic: coefficients are computed in double from the numbers and rounded once to float: 1-b1, b2, 1-b2, eps,
 * decay = 1 - lr*weightDecay, step = lr/(1 - beta1^t) and scale = 1/sqrt(1 - beta2^t). Elements: float, each
 * operation rounded on its own, never fused, in this order:
 *
 *   m' = m + ((g - m)*(1-b1))                  v' = (b2*v) + ((g*g)*(1-b2))
 *   n  = v', or the larger of maxGradNorm and v', NaN when either is
 *   var' = (decay*var) - ((step*m') / ((sqrt(n)*scale) + eps))
 *
 * FLOAT16 and BF16 are widened exactly; the unrounded m', v' and n feed the later steps, and each result is rounded
 * once, to nearest even. Inf and NaN follow from the operations; every NaN is stored as the canonical quiet NaN. The
 * bits are the same on every device, for any number of threads, and when a tensor is split over several calls.
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
 * The seven numbers are tensors of one element, of any shape, in device memory, of varRef's dtype. They are read when
 * the task runs. Their ranges are not checked: the formula decides, Inf and NaN included.
 *
 * @param varRef the parameter, FLOAT, FLOAT16 or BF16, any shape of rank 0 to 8, any strides; updated in place. Empty:
 *         there is nothing to do.
 * @param mRef first moment, dtype and shape of varRef; updated in place. It is stored without bias correction.
 * @param vRef second moment, likewise. With amsgrad it becomes n, the larger of maxGradNormOptional and the new second
 *         moment.
 * @param beta1Power beta1^(t-1): 1 in the first step. The caller multiplies it by beta1 after each step.
 * @param beta2Power beta2^(t-1), likewise.
 * @param lr learning rate, e.g. 1e-3.
 * @param weightDecay e.g. 0.01.
 * @param beta1 decay of the first moment, e.g. 0.9.
 * @param beta2 decay of the second moment, e.g. 0.999.
 * @param eps added to the root, e.g. 1e-8.
 * @param grad gradient, dtype and shape of varRef; not modified.
 * @param maxGradNormOptional with amsgrad the largest second moments so far, dtype and shape of varRef; not modified.
 *         May be NULL without amsgrad; it is not read then.
 * @param amsgrad whether the root is that of the largest second moment.
 * @param maximize whether the parameter moves along the gradient instead of against it.
 * @param workspaceSize receives the bytes of device scratch that phase 2 wants; 0: none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor or a tensor is NULL (maxGradNormOptional: with amsgrad); 161002 a tensor is
 *         stale, a dtype is not as above, a shape differs from varRef's, a number has not one element, a rank is above
 *         8, a format is not plain, a ref overlaps itself, or OPENACLNN_LIMITS=vendor and rank 0; 561000, 561101,
 *         561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWGetWorkspaceSize(
    aclTensor* varRef, aclTensor* mRef, aclTensor* vRef, const aclTensor* beta1Power,
    const aclTensor* beta2Power, const aclTensor* lr, const aclTensor* weightDecay, const aclTensor* beta1,
    const aclTensor* beta2, const aclTensor* eps, const aclTensor* grad, const aclTensor* maxGradNormOptional,
    bool amsgrad, bool maximize, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: puts the task into the stream. varRef, mRef and vRef hold the results after a synchronise. No tensor
 * content is a FAULT. aclnnApplyAdamWV2 takes the same executors.
 *
 * Aliasing: no ref may overlap another tensor of the call. Addresses for aclSetTensorAddr: the tensors in the order of
 * phase 1, without one that was NULL; as outputs 0 to 2: varRef, mRef, vRef.
 *
 * @param workspace device memory of at least the size from phase 1, any alignment; may be NULL when that is
 *         0.
 * @param workspaceSize its bytes.
 * @param executor from phase 1; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamW(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_H_ */
