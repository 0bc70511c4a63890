/* The operator aclnnNsaCompress: token compression of native sparse attention. Each window of consecutive
 * tokens of a sequence becomes one token, the weighted sum of its tokens.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with L = compressBlockSize, d = compressStride and t0(j) the first token of window j:
 *
 *   output[j, n, :] = sum over i < L of weight[i, n] * input[t0(j) + i, n, :]
 *
 * Windows: the T tokens of input are consecutive sequences, packed without padding (T-N-D layout). A sequence
 * of S tokens that starts at token s has (S - L) / d + 1 windows (rounded down), or none if S < L. Its window
 * k starts at t0 = s + k d. J is the number of all windows, in the order of the sequences. No window crosses
 * the end of a sequence. Windows overlap if d < L; if d > L they leave tokens out.
 *
 * Source: the compression of keys and values in native sparse attention, with the weighted sum as the learned
 * map.
 *
 * Arithmetic: each product is added by one fused multiply-add, in ascending i. Blocks of 64 products are added
 * in float from left to right, starting at 0. The sums of 8 blocks are added the same way. These superblock sums
 * are added in double from left to right, rounded to float and then to the dtype of output, to nearest even.
 * Every NaN is stored as the canonical quiet NaN. The bits are the same on every device and for any number of
 * threads. The bits of a window depend on its own tokens only.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnNsaCompress: checks the arguments and prepares the task. The rules of both phases are in
 * aclnn_base.h. (The order of the arguments differs from aclnnNsaCompressGrad.)
 *
 * @param input the tokens of all sequences, [T, N, D] with N and D at least 1; FLOAT, FLOAT16 or BF16.
 * @param weight [L, N] with L at least 1, of input's dtype.
 * @param actSeqLenOptional the sequences, in host memory; copied. A sequence may be empty (a leading 0 among
 *         prefix sums changes nothing). Tokens after the last sequence belong to no window. NULL or empty: B
 *         batches of equal length, where B is the smallest number up to 2^20 that divides T and gives J
 *         windows. One sequence takes precedence. If several B fit the shapes, pass the lengths; strict mode rejects the
 *         call otherwise.
 * @param layoutOptional NULL or "TND".
 * @param compressBlockSize L, the number of tokens in a window.
 * @param compressStride d, at least 1: the distance between window starts in tokens.
 * @param actSeqLenType 0: actSeqLenOptional holds prefix sums, the end of each sequence; 1: it holds lengths.
 * @param output [J, N, D], of input's dtype; fully written. If J = 0, there is nothing to do.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, input, weight or output is NULL; 161002 a tensor or the array is
 *         stale, a dtype or shape is not as above, compressStride, actSeqLenType or layoutOptional is not as
 *         above, an entry of actSeqLenOptional is negative, prefix sums decrease, the sequences have more
 *         than T tokens (strict mode: not exactly T), they do not have J windows, without lengths no B fits
 *         (strict mode: or several B fit J > 0), a rank is above 8, a format is private to NPUs, or output
 *         overlaps itself; with OPENACLNN_LIMITS=vendor also FLOAT; L, d or D not a multiple of 16; L < d, N
 *         > 128, L > 128, D > 256, actSeqLenType 1, no sequences given or not T tokens, and empty tensors;
 *         561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompressGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                                       const aclIntArray* actSeqLenOptional,
                                                       char* layoutOptional, int64_t compressBlockSize,
                                                       int64_t compressStride, int64_t actSeqLenType,
                                                       aclTensor* output, uint64_t* workspaceSize,
                                                       aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. output is valid after you synchronise the stream. No tensor data
 * is a FAULT.
 *
 * Aliasing: output must not overlap input or weight. Addresses for aclSetTensorAddr: 0 input, 1 weight, 2
 * output.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompress(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_H_ */
