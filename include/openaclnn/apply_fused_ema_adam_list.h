/* An optimizer step for all parameters of a model in one task; openaclnn/openaclnn.h includes this header.
 * SPDX-License-Identifier: Apache-2.0
 *
 * openaclnnApplyFusedEmaAdamList performs aclnnApplyFusedEmaAdam on any number of parameters in one task.
 * Moments and averages may be FLOAT with 16-bit gradients and parameters. FLOAT parameters may have 16-bit
 * copies. Gradients may be divided by a scale, and a flag in device memory may skip the step. For every index
 * i of the lists and every element, with t = step:
 *
 *   g    = grads[i] / gradScale             (no gradScale: grads[i])
 *   var', m', v', s' as in aclnn_apply_fused_ema_adam.h, from g
 *   varCopies[i] = var', rounded to the copy's dtype
 *
 * Source of the update: Kingma and Ba, "Adam" (2015); Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization" (2019). Loss scaling: Micikevicius et al., "Mixed Precision Training" (2018). gradScale and
 * foundInf correspond to grad_scale and found_inf of PyTorch's fused optimizers.
 *
 * Arithmetic: float, in the order of that header, for all dtypes. Inputs are widened exactly. The division by
 * gradScale is one rounded operation before all others. Each stored result is rounded once, to nearest even;
 * every NaN is stored as the canonical NaN. The bits of index i are therefore those of
 *   - aclnnApplyFusedEmaAdam on its five tensors, if they have one dtype and there is no gradScale;
 *   - otherwise: widen the tensors to FLOAT, divide the gradient, run aclnnApplyFusedEmaAdam, and round each
 *     result to its dtype.
 * They do not depend on the other indices, the number of threads or the instruction set.
 */
#ifndef OPENACLNN_INCLUDE_OPENACLNN_APPLY_FUSED_EMA_ADAM_LIST_H_
#define OPENACLNN_INCLUDE_OPENACLNN_APPLY_FUSED_EMA_ADAM_LIST_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of openaclnnApplyFusedEmaAdamList: checks the arguments and prepares the task.
 *
 * All lists have the same length, which may be 0: then there is nothing to do. The tensors of one index have
 * the same shape, of rank 0 to 8, and any strides. Different indices may have different shapes and dtypes.
 * Empty tensors are skipped. You may destroy lists and tensors once phase 1 has returned. The caller owns
 * them and all memory.
 *
 * Dtypes of one index: either all five are FLOAT, all FLOAT16 or all BF16. Or mRefs, vRefs and sRefs are
 * FLOAT, and grads and varRefs are each FLOAT, FLOAT16 or BF16.
 *
 * The values of lr, emaDecay, the betas, eps, weightDecay and gradScale are not checked: the formula applies
 * to every value, including Inf and NaN.
 *
 * @param grads the gradients; never modified, even with gradScale.
 * @param varRefs the parameters; updated in place.
 * @param mRefs first moments, stored without bias correction; updated in place.
 * @param vRefs second moments, stored without bias correction; updated in place.
 * @param sRefs exponential moving averages of the parameters; updated in place.
 * @param varCopiesOptional NULL, or one tensor for each parameter: FLOAT16 or BF16, with the parameter's
 *         shape. The parameter must be FLOAT. Receives the new parameter.
 * @param step the update count t of all parameters, used without change: 1 in the first step. INT64 in device
 *         memory, any shape with at least one element. Only the first 8 bytes of its view are read, when the
 *         task runs. They are not read without biasCorrection or if the step is skipped. t < 1 follows IEEE
 *         arithmetic.
 * @param gradScaleOptional NULL, or FLOAT in device memory, any shape with one element, read when the task
 *         runs. Gradients are divided by it.
 * @param foundInfOptional NULL, or FLOAT in device memory, any shape with one element, read when the task
 *         runs. 0 or -0: the step runs. Any other value, including NaN: the step is skipped. A skipped step
 *         writes nothing, not even varCopies, and does not read step and gradScale. If you count steps, do
 *         not count a skipped one.
 * @param lr, emaDecay, beta1, beta2, eps, mode, biasCorrection, weightDecay as in
 *         aclnnApplyFusedEmaAdamGetWorkspaceSize, for all indices.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, grads, varRefs, mRefs, vRefs, sRefs or step is NULL; 161002 a
 *         list or tensor is stale, lengths differ, a dtype is not as above, shapes of one index differ, step
 *         is empty, gradScale or foundInf does not have exactly one element, a rank is above 8, mode is not 0
 *         or 1, a format is private to NPUs, or a tensor that is written overlaps itself; 561000, 561101,
 *         561103 see aclnn_base.h. An error message about one tensor names list and index: "varRefs[17] has
 *         shape [3] but grads[17] has shape [4]".
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
    const aclTensorList* grads, aclTensorList* varRefs, aclTensorList* mRefs, aclTensorList* vRefs,
    aclTensorList* sRefs, aclTensorList* varCopiesOptional, const aclTensor* step,
    const aclTensor* gradScaleOptional, const aclTensor* foundInfOptional, double lr, double emaDecay,
    double beta1, double beta2, double eps, int64_t mode, bool biasCorrection, double weightDecay,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. The results are valid after you synchronise the stream.
 *
 * One task updates all parameters. Threads share the elements evenly, so a thousand small tensors cost about
 * as much as one large tensor of the same total size.
 *
 * Aliasing: grads[i] may be the same view as one ref of the same index (same address, shape and strides). Two
 * tensors of the call, one of which is written, must not overlap in any other way. Provable overlaps are an
 * error; others give unspecified values.
 *
 * Addresses for aclSetDynamicTensorAddr (lists) and aclSetTensorAddr (tensors), which share their numbers: 0
 * grads, 1 varRefs, 2 mRefs, 3 vRefs, 4 sRefs, 5 step, then gradScale and foundInf if given. After these come
 * the outputs varRefs, mRefs, vRefs, sRefs, and varCopies if given. Counting only outputs: 0 to 4 in this
 * order.
 *
 * @param workspace device memory of at least the size that phase 1 returned; may be NULL if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 only in strict
 *         mode: t < 1 with biasCorrection in a step that is not skipped; nothing is written.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnApplyFusedEmaAdamList(void* workspace, uint64_t workspaceSize,
                                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_OPENACLNN_APPLY_FUSED_EMA_ADAM_LIST_H_ */
