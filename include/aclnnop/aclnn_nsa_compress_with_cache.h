/* The operator aclnnNsaCompressWithCache: token compression of native sparse attention during inference. If
 * the newest token of a sequence completes a block, the block becomes one token of a cache, the weighted sum
 * of its tokens.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Formula, with L = compressBlockSize and d = compressStride, for each sequence b of S = actSeqLenOptional[b]
 * tokens with S >= L and (S - L) a multiple of d:
 *
 *   outputCache[slotMapping[b], n, :] = sum over i < L of weight[i, n] * token(b, S - L + i)[n, :]
 *
 * Other slots keep their values. Without blockTableOptional the sequences are consecutive in input. With it,
 * token t of sequence b is input[blockTableOptional[b, t / pageBlockSize], t % pageBlockSize].
 *
 * Source: the compression of keys and values in native sparse attention, with the weighted sum as the learned
 * map.
 *
 * Arithmetic: as in aclnn_nsa_compress.h, bit for bit. The bits of a slot depend on its own tokens only.
 */
#ifndef OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_WITH_CACHE_H_
#define OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_WITH_CACHE_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1 of aclnnNsaCompressWithCache: checks the arguments and prepares the task. The rules of both phases
 * are in aclnn_base.h.
 *
 * @param input the tokens, with N and D at least 1; FLOAT, FLOAT16 or BF16: [pages, pageBlockSize, N, D] with
 *         blockTableOptional, [T, N, D] without. Tokens after the last sequence belong to none.
 * @param weight [L, N] with L at least 1, of input's dtype.
 * @param slotMapping the cache slot for the block of each sequence, [B], INT32 in device memory, read when
 *         the task runs. Only entries of sequences that completed a block are read. If several of these name
 *         the same slot, it receives the block of the sequence with the highest number b.
 * @param actSeqLenOptional the lengths of the B sequences, in host memory; copied. May be NULL or empty only
 *         if B is 0. Equal lengths are not inferred, because nothing determines how many tokens of its pages
 *         a sequence uses.
 * @param blockTableOptional the pages of each sequence, [B, P], INT32 in device memory, read when the task
 *         runs. Only entries of pages with tokens of a completed block are read. NULL: input has no pages. No
 *         length exceeds P * pageBlockSize.
 * @param layoutOptional NULL, "TND", "BSH", "SBH", "BSND" or "BNSD"; has no effect.
 * @param compressBlockSize L, the number of tokens in a block.
 * @param compressStride d, at least 1: the distance between block starts in tokens.
 * @param actSeqLenType 1: actSeqLenOptional holds lengths.
 * @param pageBlockSize the number of tokens in a page, at least 1 and as in input; ignored without
 *         blockTableOptional.
 * @param outputCache [slots, N, D], of input's dtype; updated in place.
 * @param workspaceSize receives the workspace size in bytes that phase 2 needs; 0 if it needs none.
 * @param executor receives the executor for phase 2.
 * @return 0; 161001 workspaceSize, executor, input, weight, slotMapping or outputCache is NULL; 161002 a
 *         tensor or the array is stale, a dtype or shape is not as above, compressStride, actSeqLenType,
 *         layoutOptional or pageBlockSize is not as above, actSeqLenOptional does not have B entries, one is
 *         negative, exceeds the tokens of P pages, or makes the sum exceed T, a rank is above 8, a format is
 *         private to NPUs, or outputCache overlaps itself; with OPENACLNN_LIMITS=vendor also FLOAT; L, d or D
 *         not a multiple of 16; L < d, L >= 128, N > 64, D > 256, pageBlockSize other than 64 and 128, at
 *         most (pages * pageBlockSize - L) / d slots with pages, and empty tensors; 561000, 561101, 561103
 *         see aclnn_base.h.
 */
ACLNN_API aclnnStatus aclnnNsaCompressWithCacheGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* slotMapping,
    const aclIntArray* actSeqLenOptional, const aclTensor* blockTableOptional, char* layoutOptional,
    int64_t compressBlockSize, int64_t compressStride, int64_t actSeqLenType, int64_t pageBlockSize,
    aclTensor* outputCache, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the task on the stream. outputCache is valid after you synchronise the stream.
 *
 * FAULT: a slot of a completed block outside [0, slots), or a page of its tokens outside [0, pages). That
 * block is skipped, and all others are compressed (strict mode: nothing is written). The next synchronising
 * call returns 507035 with the first faulty entry, its value, the limit and the count of skipped blocks.
 * Entries are ordered by sequence, the slot before the pages; positions in a table count row by row. Each
 * entry is read once, so later changes to it cannot misdirect an access.
 *
 * Aliasing: outputCache must not overlap another tensor. Addresses for aclSetTensorAddr: the tensors in the
 * order of phase 1, without a blockTableOptional that was NULL. outputCache is also output 0.
 *
 * @param workspace device memory of at least the size that phase 1 returned, with any alignment; may be NULL
 *         if that size is 0.
 * @param workspaceSize the size of workspace in bytes.
 * @param executor the executor that phase 1 returned; consumed unless it is repeatable.
 * @param stream a live stream of the current context's device, or NULL for the default stream.
 * @return 0; 107002, 107003, 107017, 161001, 161002, 361001, 561000 see aclnn_base.h; 507035 a FAULT
 *         (returned by phase 2 only in strict or blocking mode).
 */
ACLNN_API aclnnStatus aclnnNsaCompressWithCache(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACLNNOP_ACLNN_NSA_COMPRESS_WITH_CACHE_H_ */
