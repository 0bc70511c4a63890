/* The operator aclnnNsaCompress: token compression of native sparse attention. Windows of consecutive tokens of a
 * sequence become one token each, their weighted sum.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with L = compressBlockSize, d = compressStride and t0(j) the first token of window j:
 *
 *   output[j, n, :] = sum over i < L of weight[i, n] * input[t0(j) + i, n, :]
 *
 * Windows: the T tokens of input are a row of sequences (T-N-D layout: tokens packed without padding). A sequence
 * of S tokens that starts at token s has (S - L) / d + 1 windows (rounded down), and none when S < L; window k of
 * it starts at t0 = s + k d. J is the number of all windows, in the order of the sequences. No window crosses the
 * end of a sequence. Windows overlap when d < L; with d > L they leave tokens out.
 *
 * Source: the compression of keys and values in native sparse attention, with the weighted sum as the learnt map.
 *
 * Arithmetic: the products are rounded to float. They are added in ascending i: blocks of 64 products in float
 * from left to right starting at 0; sums of 8 blocks the same way; these superblock sums in double from left to right;
 * then one rounding to float and one to the dtype of output, to nearest even; every NaN is stored as the canonical
 * quiet NaN. The bits are the same on every device and for any number of threads, and those of a window depend on
 * its own tokens only.
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
 * @param actSeqLenOptional the sequences, in host memory, copied. A sequence may have no token (a leading 0 among
 *         prefix sums changes nothing). Tokens after the last sequence belong to no window. NULL or empty: B batches
 *         of equal length, where B is the smallest number that divides T and gives J windows. One sequence comes
 *         first. When several B fit the shapes, pass the lengths; strict mode refuses the call otherwise.
 * @param layoutOptional NULL or "TND".
 * @param compressBlockSize L, the tokens of a window.
 * @param compressStride d, at least 1: the distance of window starts.
 * @param actSeqLenType 0: actSeqLenOptional holds prefix sums, the end of each sequence; 1: lengths.
 * @param output [J, N, D], of input's dtype; all of it is written. J = 0: there is nothing to do.
 * @param workspaceSize receives the bytes of device scratch that phase 2 wants; 0: none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, input, weight or output is NULL; 161002 a tensor or the array is
 *         stale, a dtype or shape is not as above, compressStride, actSeqLenType or layoutOptional is not as
 *         above, an entry of actSeqLenOptional is negative, prefix sums decrease, the sequences have more than T
 *         tokens (strict mode: not exactly T), they do not have J windows, without lengths no B fits (strict mode: or
 *         several B fit J > 0), a rank is above 8, a format is not
 *         plain, or output overlaps itself; with OPENACLNN_LIMITS=vendor also FLOAT, L, d or D that is no
 *         multiple of 16, L < d, N > 128, L > 128, D > 256, actSeqLenType 1, no sequences given or not T tokens,
 *         and empty tensors; 561000, 561101, 561103 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompressGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                                       const aclIntArray* actSeqLenOptional,
                                                       char* layoutOptional, int64_t compressBlockSize,
                                                       int64_t compressStride, int64_t actSeqLenType,
                                                       aclTensor* output, uint64_t* workspaceSize,
                                                       aclOpExecutor** executor);

/**
 * Phase 2: puts the task into the stream. output is valid after a synchronise. No tensor content is a FAULT.
 *
 * Aliasing: output must not overlap input or weight. Addresses for aclSetTensorAddr: 0 input, 1 weight, 2 output.
 *
 * @param workspace device memory of at least the size from phase 1, any alignment; may be NULL when that is
 *         0.
 * @param workspaceSize its bytes.
 * @param executor from phase 1; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompress(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_H_ */
