/* The operator aclnnApplyFusedEmaAdam: a step of Adam or AdamW that also updates a moving average of the
 * parameter.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, for every element, with t = step. On the right-hand side var is the value before the step:
 *
 *   g    = grad                       mode 1
 *        = grad + weightDecay * var   mode 0
 *   m'   = beta1 * m + (1 - beta1) * g
 *   v'   = beta2 * v + (1 - beta2) * g * g
 *   q    = (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)   (+ weightDecay * var in mode 1)
 *   var' = var - lr * q
 *   s'   = emaDecay * s + (1 - emaDecay) * var'
 *
 * Sources: Kingma and Ba, "Adam" (2015); mode 1: Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization" (2019). This project defines the order of arithmetic.
 *
 * Arithmetic: coefficients are computed in double from t and the attributes and rounded once to float: b =
 * beta, 1-b, lr, eps, wd, ema, 1-ema and r = 1/(1-beta^t). Elements are computed in float. Each operation is
 * rounded separately, never fused, in this order:
 *
 *   mode 0: g = (wd*var) + grad                m' = ((1-b1)*g) + (b1*m)        v' = ((g*g)*(1-b2)) + (b2*v)
 *   q = (m'*r1) / (sqrt(v'*r2) + eps)          mode 1: q = q + (wd*var)
 *   var' = var - (lr*q)                        s' = (ema*s) + ((1-ema)*var')
 *
 * FLOAT16 and BF16 are widened exactly. Later operations use the unrounded m', v' and var'. Each result is
 * rounded once, to nearest even. Inf and NaN follow from the operations (0 * Inf is computed); every NaN is
 * stored as the canonical quiet NaN. The bits are the same on every device, for any number of threads, and if
 * a tensor is split over several calls.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_FUSED_EMA_ADAM_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_FUSED_EMA_ADAM_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnApplyFusedEmaAdam: checks the arguments and prepares the task. The rules of both phases are
 * in aclnn_base.h.
 *
 * The values of lr, emaDecay, the betas, eps and weightDecay are not checked: the formula applies to every
 * value, including Inf and NaN.
 *
 * @param grad the gradient, FLOAT, FLOAT16 or BF16, any shape of rank 0 to 8, any strides; not modified. If
 *         it is empty, there is nothing to do.
 * @param varRef the parameter, with dtype and shape of grad; updated in place.
 * @param mRef first moment, like varRef, stored without bias correction.
 * @param vRef second moment, like mRef.
 * @param sRef exponential moving average of the parameter, like varRef.
 * @param step the update count t, used without change: 1 in the first step. INT64 in device memory, any shape
 *         with at least one element. Only the first 8 bytes of its view are read, when the task runs. They
 *         are not read without biasCorrection. Every value is accepted; t < 1 follows IEEE arithmetic (t = 0
 *         divides by zero).
 * @param lr learning rate, e.g. 1e-3.
 * @param emaDecay decay of the moving average, e.g. 0.9999.
 * @param beta1 decay of the first moment, e.g. 0.9.
 * @param beta2 decay of the second moment, e.g. 0.999.
 * @param eps added to the square root, e.g. 1e-8.
 * @param mode 0: weight decay is added to the gradient (Adam with L2); 1: it is added to the update (AdamW).
 * @param biasCorrection if false, both corrections 1 - beta^t are 1.
 * @param weightDecay the weight decay, e.g. 0.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, grad, varRef, mRef, vRef, sRef or step is NULL; 161002 a tensor
 *         is stale, a dtype is not as above, a shape differs from grad's, step is empty, a rank is above 8,
 *         mode is not 0 or 1, a format is private to NPUs, a ref overlaps itself, or OPENACLNN_LIMITS=vendor
 *         and a rank is 0; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnApplyFusedEmaAdamGetWorkspaceSize(
    const aclTensor* grad, aclTensor* varRef, aclTensor* mRef, aclTensor* vRef, aclTensor* sRef,
    const aclTensor* step, double lr, double emaDecay, double beta1, double beta2, double eps, int64_t mode,
    bool biasCorrection, double weightDecay, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. varRef, mRef, vRef and sRef hold the results after you
 * synchronise the stream.
 *
 * Aliasing: grad may be the same view as one ref (same address, shape and strides). Tensors of the call must
 * not overlap in any other way: provable overlaps are an error, others give unspecified values.
 *
 * Addresses for aclSetTensorAddr: 0 grad, 1 varRef, 2 mRef, 3 vRef, 4 sRef, 5 step; as outputs 0 to 3 (6 to
 * 9): varRef, mRef, vRef, sRef.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 only in strict
 *         mode: t < 1 with biasCorrection; nothing is written. No other tensor data is a FAULT.
 */
ACLNN_API aclnnStatus aclnnApplyFusedEmaAdam(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                             aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_APPLY_FUSED_EMA_ADAM_H_ */
