/* One optimizer step of a whole model: openaclnn/openaclnn.h includes this header.
 * SPDX-License-Identifier: Apache-2.0
 *
 * openaclnnApplyFusedEmaAdamList does what aclnnApplyFusedEmaAdam does, for any number of parameters in one
 * task. Moments and average may be FLOAT while gradient and parameter are 16-bit numbers, a 16-bit copy of a
 * FLOAT parameter may be written in the same pass, gradients may be divided by a scale, and a flag in device
 * memory may cancel the step. For every index i of the lists, for every element, with t = step:
 *
 *   g    = grads[i] / gradScale             (no gradScale: grads[i])
 *   var', m', v', s' as in aclnn_apply_fused_ema_adam.h, from g
 *   varCopies[i] = var', rounded to the copy's dtype
 *
 * Source of the update: Kingma and Ba, "Adam" (2015); Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization" (2019). Loss scaling: Micikevicius et al., "Mixed Precision Training" (2018). gradScale and
 * foundInf have the roles that grad_scale and found_inf have in PyTorch's fused optimizers.
 *
 * Arithmetic: float, in the order of that header, whatever the dtypes. Every input is widened exactly, the
 * division by gradScale is one rounded operation before all others, and every stored result is rounded once,
 * to nearest even, every NaN as the canonical one. So the bits of index i are those of
 *   - aclnnApplyFusedEmaAdam on its five tensors, when they have one dtype and there is no gradScale;
 *   - else of widening its tensors to FLOAT, dividing the gradient, aclnnApplyFusedEmaAdam, and narrowing each
 *     result to its dtype.
 * They do not depend on the other indices, the number of threads, or the instruction set.
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
 * All lists have one length; 0 is accepted, there is nothing to do. The tensors of one index have one shape, of
 * rank 0 to 8, and any strides; shapes and dtypes of different indices are independent. Empty tensors are
 * skipped. Lists and tensors may be destroyed once phase 1 returned; the caller owns them and all memory.
 *
 * Dtypes of one index, either: all five FLOAT, all FLOAT16 or all BF16. Or: mRefs, vRefs, sRefs FLOAT, grads and
 * varRefs each FLOAT, FLOAT16 or BF16.
 *
 * The ranges of lr, emaDecay, the betas, eps, weightDecay and gradScale are not checked: the formula decides,
 * Inf and NaN included.
 *
 * @param grads gradients; never written, also not with gradScale.
 * @param varRefs the parameters; updated in place.
 * @param mRefs first moments, stored without bias correction; updated in place.
 * @param vRefs second moments, likewise.
 * @param sRefs exponential moving averages of the parameters, likewise.
 * @param varCopiesOptional NULL, or one tensor for each parameter: FLOAT16 or BF16, shape of the parameter, which
 *         must then be FLOAT; written with the new parameter.
 * @param step the update count t of all parameters, used as it is: 1 in the first step. INT64 in device memory,
 *         any shape with at least one element; only the first 8 bytes of its view are read, when the task runs,
 *         and not at all without biasCorrection or when the step is skipped. t < 1 follows IEEE arithmetic.
 * @param gradScaleOptional NULL, or FLOAT in device memory, any shape with one element, read when the task runs.
 *         Gradients are divided by it.
 * @param foundInfOptional NULL, or FLOAT in device memory, any shape with one element, read when the task runs.
 *         0 (also -0): the step is taken. Any other value, NaN too: it is skipped; nothing is written, varCopies
 *         neither, and step and gradScale are not read. The caller who counts steps takes the skipped one back.
 * @param lr, emaDecay, beta1, beta2, eps, mode, biasCorrection, weightDecay as in
 *         aclnnApplyFusedEmaAdamGetWorkspaceSize; they hold for all indices.
 * @param workspaceSize receives the bytes of device scratch that phase 2 wants; 0: none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, grads, varRefs, mRefs, vRefs, sRefs or step is NULL; 161002 a list
 *         or tensor is stale, lengths differ, a dtype is not as above, shapes of one index differ, step is empty,
 *         gradScale or foundInf has not one element, a rank is above 8, mode is not 0 or 1, a format is not plain,
 *         or a tensor that is written overlaps itself; 561000, 561101, 561103 see aclnn_base.h. A sentence about
 *         one tensor names list and index: "varRefs[17] has shape [3] but grads[17] has shape [4]".
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
    const aclTensorList* grads, aclTensorList* varRefs, aclTensorList* mRefs, aclTensorList* vRefs,
    aclTensorList* sRefs, aclTensorList* varCopiesOptional, const aclTensor* step,
    const aclTensor* gradScaleOptional, const aclTensor* foundInfOptional, double lr, double emaDecay,
    double beta1, double beta2, double eps, int64_t mode, bool biasCorrection, double weightDecay,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: puts the task into the stream. The results are valid after a synchronise.
 *
 * All parameters are one task: it is shared among threads by numbers of elements, so a thousand small tensors
 * cost about what one large tensor of the same size costs.
 *
 * Aliasing: grads[i] may be the very view of one ref of the same index (same address, shape and strides). Other
 * overlaps between any two tensors of the call, one of them written, are an error where they are evident and give
 * unspecified values where not.
 *
 * Addresses for aclSetDynamicTensorAddr (lists) and aclSetTensorAddr (tensors), which count together: 0 grads, 1
 * varRefs, 2 mRefs, 3 vRefs, 4 sRefs, 5 step, then gradScale and foundInf where given; behind these the outputs
 * varRefs, mRefs, vRefs, sRefs, and varCopies where given. As outputs alone: 0 to 4 in this order.
 *
 * @param workspace device memory of at least the size from phase 1, any alignment; may be NULL when that is 0.
 * @param workspaceSize its bytes.
 * @param executor from phase 1; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 only in strict mode:
 *         t < 1 with biasCorrection in a step that is not skipped, nothing is written.
 */
ACL_FUNC_VISIBILITY aclnnStatus openaclnnApplyFusedEmaAdamList(void* workspace, uint64_t workspaceSize,
                                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_OPENACLNN_APPLY_FUSED_EMA_ADAM_LIST_H_ */
