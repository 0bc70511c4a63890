/* The operator aclnnApplyAdamWV2: a step of AdamW, with the numbers as arguments and a tensor that counts the steps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, for every element; t = step + 1, var is the value before the step where it stands on the right, and grad is
 * -grad with maximize:
 *
 *   m'   = beta1 * m + (1 - beta1) * grad
 *   v'   = beta2 * v + (1 - beta2) * grad * grad
 *   n    = v'                             amsgrad: n = max' = max(max, v')
 *   var' = var - lr * weightDecay * var - lr * (m' / (1 - beta1^t)) / (sqrt(n / (1 - beta2^t)) + eps)
 *
 * Sources, order of arithmetic, rounding, NaN and reproducibility are those of aclnn_apply_adam_w.h, with beta^t
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
 * The ranges of lr, the betas, weightDecay and eps are not checked: the formula decides, Inf and NaN included.
 *
 * @param varRef the parameter, FLOAT, FLOAT16 or BF16, any shape of rank 0 to 8, any strides; updated in place. Empty:
 *         there is nothing to do.
 * @param mRef first moment, dtype and shape of varRef; updated in place. It is stored without bias correction.
 * @param vRef second moment, likewise.
 * @param maxGradNormOptionalRef with amsgrad the largest second moments so far, without bias correction; shape of
 *         varRef, dtype of varRef or of grad; updated in place. May be NULL without amsgrad; it is not accessed then.
 * @param grad gradient, shape of varRef, and its dtype, or FLOAT16 or BF16 where varRef is FLOAT; not modified.
 * @param step how many steps came before this one: 0 in the first step. INT64 or FLOAT, one element of any shape in
 *         device memory, read when the task runs. FLOAT is cut to a whole number. Every value works; below 0 the
 *         formula follows IEEE arithmetic (-1 divides by zero), and NaN makes var NaN.
 * @param lr learning rate, e.g. 1e-3.
 * @param beta1 decay of the first moment, e.g. 0.9.
 * @param beta2 decay of the second moment, e.g. 0.999.
 * @param weightDecay e.g. 0.01.
 * @param eps added to the root, e.g. 1e-8.
 * @param amsgrad whether the root is that of the largest second moment.
 * @param maximize whether the parameter moves along the gradient instead of against it.
 * @param workspaceSize receives the bytes of device scratch that phase 2 wants; 0: none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor or a tensor is NULL (maxGradNormOptionalRef: with amsgrad); 161002 a tensor
 *         is stale, a dtype is not as above, a shape differs from varRef's, step has not one element, a rank is above
 *         8, a format is not plain, a ref overlaps itself, or OPENACLNN_LIMITS=vendor and rank 0; 561000, 561101,
 *         561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWV2GetWorkspaceSize(aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                                                        aclTensor* maxGradNormOptionalRef,
                                                        const aclTensor* grad, const aclTensor* step,
                                                        float lr, float beta1, float beta2, float weightDecay,
                                                        float eps, bool amsgrad, bool maximize,
                                                        uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: puts the task into the stream. varRef, mRef, vRef and, with amsgrad, maxGradNormOptionalRef hold the results
 * after a synchronise. aclnnApplyAdamW takes the same executors.
 *
 * Aliasing: no ref may overlap another tensor of the call. Addresses for aclSetTensorAddr: the tensors in the order of
 * phase 1, without one that was NULL; as outputs likewise: varRef, mRef, vRef, maxGradNormOptionalRef.
 *
 * @param workspace device memory of at least the size from phase 1, any alignment; may be NULL when that is
 *         0.
 * @param workspaceSize its bytes.
 * @param executor from phase 1; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 only in strict mode: step
 *         is below 0 or NaN, nothing is written. No other tensor data is a FAULT.
 */
ACLNN_API aclnnStatus aclnnApplyAdamWV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H_ */
