/* A C11 program that includes every public header and takes one AdamW step, to show that the interface
   needs no C++.
 *
 * The expected numbers are compared bit by bit. step holds 2^62 and is described as [2, 2] over 16 bytes,
 * because callers do that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_base.h"
#include "acl/acl_base_mdl.h"
#include "acl/acl_base_rt.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"
#include "acl/error_codes/ge_error_codes.h"
#include "acl/error_codes/rt_error_codes.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_util.h"
#include "openaclnn/openaclnn.h"
#include "openaclnn/status.h"

enum { kGrad, kVar, kM, kV, kS, kTensors, kElements = 4 };

static const char* const kNames[kTensors] = {"grad", "var", "m", "v", "s"};

static const float kInput[kTensors][kElements] = {
    {0.5f, -1.25f, 2.0f, -0.03125f}, {1.0f, -2.0f, 0.5f, 3.0f},  {0.25f, 0.5f, -1.0f, 0.0f},
    {0.5f, 0.0625f, 4.0f, 0.0f},     {1.0f, -1.5f, 0.25f, 3.5f},
};

static const uint32_t kExpected[kTensors][kElements] = {
    {0x3f000000u, 0xbfa00000u, 0x40000000u, 0xbd000000u},
    {0x3f7e5ca5u, 0xc0006d5au, 0x3f009375u, 0x404028f6u},
    {0x3e8ccccdu, 0x3ea66666u, 0xbf333333u, 0xbb4ccccdu},
    {0x3efeb852u, 0x3d9eb852u, 0x40800000u, 0x3723d70au},
    {0x3f7f9729u, 0xbfd036adu, 0x3ea049bau, 0x40580a3eu},
};

/* Prints why a call failed; returns whether it did. */
static bool failed(const char* what, int status) {
  if (status == ACL_SUCCESS) return false;
  const char* message = aclGetRecentErrMsg();
  fprintf(stderr, "%s: %d\n%s\n", what, status, message != NULL ? message : "(no message)");
  return true;
}

static bool make_block(void** block, const void* host, size_t bytes) {
  return !failed("aclrtMalloc", aclrtMalloc(block, bytes, ACL_MEM_MALLOC_HUGE_FIRST)) &&
         !failed("aclrtMemcpy", aclrtMemcpy(*block, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}

static bool step_once(aclrtStream stream, void* const data[kTensors], void* step_data) {
  const int64_t shape[1] = {kElements};
  const int64_t step_shape[2] = {2, 2};
  aclTensor* tensor[kTensors];
  for (int i = 0; i < kTensors; ++i) {
    tensor[i] = aclCreateTensor(shape, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1, data[i]);
    if (tensor[i] == NULL) return !failed("aclCreateTensor", ACLNN_ERR_INNER_NULLPTR);
  }
  aclTensor* step =
      aclCreateTensor(step_shape, 2, ACL_INT64, NULL, 0, ACL_FORMAT_ND, step_shape, 2, step_data);

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = NULL;
  void* workspace = NULL;
  aclnnStatus status = aclnnApplyFusedEmaAdamGetWorkspaceSize(
      tensor[kGrad], tensor[kVar], tensor[kM], tensor[kV], tensor[kS], step, 0.01, 0.75, 0.9, 0.99, 1e-8, 1,
      true, 0.25, &workspace_bytes, &executor);
  bool good = !failed("aclnnApplyFusedEmaAdamGetWorkspaceSize", status);
  if (good && workspace_bytes > 0) {
    good = !failed("aclrtMalloc", aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  if (good)
    good = !failed("aclnnApplyFusedEmaAdam",
                   aclnnApplyFusedEmaAdam(workspace, workspace_bytes, executor, stream));

  /* The descriptors may be destroyed before the task has run; the memory may not. */
  for (int i = 0; i < kTensors; ++i) good &= !failed("aclDestroyTensor", aclDestroyTensor(tensor[i]));
  good &= !failed("aclDestroyTensor", aclDestroyTensor(step));
  good &= !failed("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
  if (workspace != NULL) good &= !failed("aclrtFree", aclrtFree(workspace));
  return good;
}

static bool check_results(void* const data[kTensors]) {
  bool good = true;
  for (int i = 0; i < kTensors; ++i) {
    uint32_t bits[kElements];
    float values[kElements];
    if (failed("aclrtMemcpy",
               aclrtMemcpy(bits, sizeof bits, data[i], sizeof bits, ACL_MEMCPY_DEVICE_TO_HOST)))
      return false;
    memcpy(values, bits, sizeof values);
    printf("%-4s", kNames[i]);
    for (int k = 0; k < kElements; ++k) {
      const bool equal = bits[k] == kExpected[i][k];
      printf("  %.9g (%08" PRIx32 "%s", (double)values[k], bits[k], equal ? ")" : ", WRONG)");
      good &= equal;
    }
    printf("\n");
  }
  return good;
}

int main(void) {
  const int64_t step[2] = {(int64_t)1 << 62, 0};
  aclrtStream stream = NULL;
  void* data[kTensors] = {NULL};
  void* step_data = NULL;

  if (failed("aclInit", aclInit(NULL))) return 1;
  if (failed("aclrtSetDevice", aclrtSetDevice(0))) return 1;
  if (failed("aclrtCreateStream", aclrtCreateStream(&stream))) return 1;
  for (int i = 0; i < kTensors; ++i) {
    if (!make_block(&data[i], kInput[i], sizeof kInput[i])) return 1;
  }
  if (!make_block(&step_data, step, sizeof step)) return 1;

  bool good = step_once(stream, data, step_data) && check_results(data);

  for (int i = 0; i < kTensors; ++i) good &= !failed("aclrtFree", aclrtFree(data[i]));
  good &= !failed("aclrtFree", aclrtFree(step_data));
  good &= !failed("aclrtDestroyStream", aclrtDestroyStream(stream));
  good &= !failed("aclrtResetDevice", aclrtResetDevice(0));
  good &= !failed("aclFinalize", aclFinalize());
  printf("%s\n", good ? "ok" : "FAILED");
  return good ? 0 : 1;
}
