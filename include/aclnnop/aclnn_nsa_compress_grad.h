/* The operator aclnnNsaCompressGrad: the gradients of aclnnNsaCompress with respect to its tokens and its
 * weights.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with the windows, L, d and t0(j) of aclnn_nsa_compress.h:
 *
 *   inputGrad[t, n, :] = sum of weight[i, n] * outputGrad[j, n, :] over all (j, i) with t0(j) + i = t
 *   weightGrad[i, n]   = sum over j and e of outputGrad[j, n, e] * input[t0(j) + i, n, e]
 *
 * Source: the derivatives of output[j, n, :] = sum over i of weight[i, n] * input[t0(j) + i, n, :].
 *
 * Arithmetic: each product is added by one fused multiply-add in float. Those of inputGrad are added in
 * ascending j, starting at 0. The order of additions of weightGrad depends only on shapes and lengths. Each product takes
 * part in at most 256 additions in float, then in double. A last rounding to nearest even gives the dtype;
 * every NaN is stored as the canonical quiet NaN. The bits do not depend on threads or instruction sets. The
 * bits of inputGrad are the same on every device and depend on the token's own windows only. Those of
 * weightGrad are the same on all machines with one kind of device.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_GRAD_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_GRAD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnNsaCompressGrad: checks the arguments and prepares the task. The rules of both phases are
 * in aclnn_base.h. (The order of the arguments differs from aclnnNsaCompress.)
 *
 * @param outputGrad the gradient of the compressed tokens, [J, N, D]; FLOAT, FLOAT16 or BF16.
 * @param input the tokens of all sequences, [T, N, D], of outputGrad's dtype.
 * @param weight [L, N] with L at least 1, of outputGrad's dtype.
 * @param actSeqLenOptionalOptional the sequences, in host memory; copied. A sequence may be empty (a leading
 *         0 among prefix sums changes nothing). NULL or empty: B batches of equal length, where B is the
 *         smallest number up to 2^20 that divides T and gives J windows, as in aclnn_nsa_compress.h.
 * @param compressBlockSize L, the number of tokens in a window.
 * @param compressStride d, at least 1: the distance between window starts in tokens.
 * @param actSeqLenType 0: actSeqLenOptionalOptional holds prefix sums, the end of each sequence; 1: it holds
 *         lengths.
 * @param layoutOptionalOptional NULL or "TND".
 * @param inputGradOut [T, N, D], of outputGrad's dtype; fully written, despite the const. Tokens of no window
 *         become zeros.
 * @param weightGradOut [L, N], of outputGrad's dtype; fully written, despite the const.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor or a tensor is NULL; 161002 a tensor or the array is stale, a
 *         dtype or shape is not as above, compressStride, actSeqLenType or layoutOptionalOptional is not as
 *         above, an entry of actSeqLenOptionalOptional is negative, prefix sums decrease, the sequences have
 *         more than T tokens (strict mode: not exactly T), they do not have J windows, without lengths no B
 *         fits (strict mode: or several B fit J > 0), a rank is above 8, a format is private to NPUs, or an
 *         output overlaps itself; with OPENACLNN_LIMITS=vendor also FLOAT; L, d or D not a multiple of 16; L
 *         < d, actSeqLenType 1, and empty tensors; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompressGradGetWorkspaceSize(
    const aclTensor* outputGrad, const aclTensor* input, const aclTensor* weight,
    const aclIntArray* actSeqLenOptionalOptional, int64_t compressBlockSize, int64_t compressStride,
    int64_t actSeqLenType, char* layoutOptionalOptional, const aclTensor* inputGradOut,
    const aclTensor* weightGradOut, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. The outputs are valid after you synchronise the stream. No tensor
 * data is a FAULT.
 *
 * Aliasing: the outputs must not overlap each other or an input. Addresses for aclSetTensorAddr: 0
 * outputGrad, 1 input, 2 weight, 3 inputGradOut, 4 weightGradOut.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompressGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                           aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_GRAD_H_ */
