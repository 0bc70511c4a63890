/* The cost of a call without Python: descriptors, both phases, the wait. python/bench/overhead.py loads it.
 * SPDX-License-Identifier: Apache-2.0
 */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"

static aclTensor* tensor(int rank, const int64_t* dims, aclDataType dtype, void* data) {
  return aclCreateTensor(dims, (uint64_t)rank, dtype, NULL, 0, ACL_FORMAT_ND, dims, (uint64_t)rank, data);
}

/* Processor time of this thread, which runs the whole call: other programs do not count. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds for `calls` lookups of 2 rows in a table of 4 x 4 floats; negative: a call failed. */
double embedding_seconds(int64_t calls, float* table, int64_t* ids, float* rows) {
  static const int64_t table_dims[] = {4, 4}, ids_dims[] = {2}, rows_dims[] = {2, 4};
  aclrtStream stream = NULL;
  if (aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return -1;
  const double start = now();
  int code = 0;
  for (int64_t call = 0; call < calls; ++call) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = NULL;
    aclTensor* weight = tensor(2, table_dims, ACL_FLOAT, table);
    aclTensor* indices = tensor(1, ids_dims, ACL_INT64, ids);
    aclTensor* out = tensor(2, rows_dims, ACL_FLOAT, rows);
    code |= aclnnEmbeddingGetWorkspaceSize(weight, indices, out, &bytes, &executor);
    code |= aclnnEmbedding(NULL, 0, executor, stream);
    code |= aclrtSynchronizeStream(stream);
    code |= aclDestroyTensor(weight) | aclDestroyTensor(indices) | aclDestroyTensor(out);
  }
  const double seconds = now() - start;
  aclrtDestroyStream(stream);
  return code == 0 ? seconds : -1;
}

/* Seconds for `calls` optimizer steps of 4 elements; data holds the five arrays one after the other. */
double ema_adam_seconds(int64_t calls, float* data, int64_t* step) {
  static const int64_t dims[] = {4}, one[] = {1};
  aclrtStream stream = NULL;
  if (aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0) return -1;
  const double start = now();
  int code = 0;
  for (int64_t call = 0; call < calls; ++call) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = NULL;
    aclTensor* made[6];
    for (int k = 0; k < 5; ++k) made[k] = tensor(1, dims, ACL_FLOAT, data + 4 * k);
    made[5] = tensor(1, one, ACL_INT64, step);
    code |= aclnnApplyFusedEmaAdamGetWorkspaceSize(made[0], made[1], made[2], made[3], made[4], made[5], 1e-3,
                                                   0.9999, 0.9, 0.999, 1e-8, 1, true, 0, &bytes, &executor);
    code |= aclnnApplyFusedEmaAdam(NULL, 0, executor, stream);
    code |= aclrtSynchronizeStream(stream);
    for (int k = 0; k < 6; ++k) code |= aclDestroyTensor(made[k]);
  }
  const double seconds = now() - start;
  aclrtDestroyStream(stream);
  return code == 0 ? seconds : -1;
}
