// A host program as it is written for CANN: explicit memory, a stream, two phases on two threads, and
// typical uses of descriptors. It uses only CANN's headers, by their full and by their bare names, and
// checks its results.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl_meta.h"
#include "aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"

#define REQUIRE(condition)                                                                  \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      const char* text = aclGetRecentErrMsg();                                              \
      std::fprintf(stderr, "%s:%d: %s does not hold: %s\n", __FILE__, __LINE__, #condition, \
                   text ? text : "");                                                       \
      return 1;                                                                             \
    }                                                                                       \
  } while (false)

namespace {

void* to_device(const void* from, size_t bytes) {
  void* address = nullptr;
  if (aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
  if (aclrtMemcpy(address, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS) return nullptr;
  return address;
}

template <class T>
std::vector<T> to_host(const void* address, size_t count) {
  std::vector<T> values(count);
  aclrtMemcpy(values.data(), count * sizeof(T), address, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST);
  return values;
}

// A dense tensor whose storage has one dimension, with the format that programs choose by the rank.
aclTensor* describe(const std::vector<int64_t>& dims, aclDataType dtype, void* address) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  int64_t elements = 1;
  for (size_t k = 0; k < dims.size(); ++k) elements *= dims[k];
  const aclFormat format = dims.size() == 3   ? ACL_FORMAT_NCL
                           : dims.size() == 4 ? ACL_FORMAT_NCHW
                                              : ACL_FORMAT_ND;
  return aclCreateTensor(dims.data(), dims.size(), dtype, strides.data(), 0, format, &elements, 1, address);
}

// The gradient of a table of 4 rows: phase 1 here, phase 2 on another thread. The arguments are destroyed
// right after it.
int table_gradient(aclrtStream stream) {
  const float grad[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}};
  const int64_t indices[2][3] = {{0, 3, 0}, {1, 3, 3}};
  void* const grad_memory = to_device(grad, sizeof(grad));
  void* const index_memory = to_device(indices, sizeof(indices));
  const float unset[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  void* const out_memory = to_device(unset, sizeof(unset));
  REQUIRE(grad_memory != nullptr && index_memory != nullptr && out_memory != nullptr);

  aclTensor* const grad_tensor = describe({2, 3, 2}, ACL_FLOAT, grad_memory);
  aclTensor* const index_tensor = describe({2, 3}, ACL_INT64, index_memory);
  aclTensor* const out_tensor = describe({4, 2}, ACL_FLOAT, nullptr);  // its address comes later
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  const int64_t no_padding = -1;
  REQUIRE(aclnnEmbeddingDenseBackwardGetWorkspaceSize(grad_tensor, index_tensor, 4,
                                                      static_cast<uint64_t>(no_padding), false, out_tensor,
                                                      &workspace_bytes, &executor) == ACL_SUCCESS);
  REQUIRE(aclSetTensorAddr(executor, 2, out_tensor, out_memory) == ACL_SUCCESS);
  void* workspace = nullptr;
  if (workspace_bytes > 0)
    REQUIRE(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);

  aclrtContext context = nullptr;
  REQUIRE(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  aclnnStatus launched = -1;
  std::thread([&] {
    aclrtSetCurrentContext(context);
    launched = aclnnEmbeddingDenseBackward(workspace, workspace_bytes, executor, stream);
  }).join();
  REQUIRE(launched == ACL_SUCCESS);
  aclDestroyTensor(grad_tensor);
  aclDestroyTensor(index_tensor);
  aclDestroyTensor(out_tensor);
  REQUIRE(aclrtSynchronizeStream(stream) == ACL_SUCCESS);

  const std::vector<float> out = to_host<float>(out_memory, 8);
  const std::vector<float> expected = {6, 8, 7, 8, 0, 0, 23, 26};
  REQUIRE(out == expected);
  aclDestroyAclOpExecutor(executor);  // consumed earlier; programs nevertheless do this at their end
  aclrtFree(workspace);
  aclrtFree(out_memory);
  aclrtFree(index_memory);
  aclrtFree(grad_memory);
  return 0;
}

// One step of AdamW: without strides, and with a description of step larger than its 8 bytes.
int optimizer_step(aclrtStream stream) {
  const float ones[4] = {1, 1, 1, 1}, zeros[4] = {0, 0, 0, 0};
  const int64_t first = 1;
  void* const grad = to_device(ones, sizeof(ones));
  void* state[4] = {to_device(ones, sizeof(ones)), to_device(zeros, sizeof(zeros)),
                    to_device(zeros, sizeof(zeros)), to_device(ones, sizeof(ones))};
  void* const step = to_device(&first, sizeof(first));
  const int64_t dims[] = {4}, step_dims[] = {16};
  aclTensor* tensors[6];
  tensors[0] = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, grad);
  for (int k = 0; k < 4; ++k)
    tensors[k + 1] = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, state[k]);
  tensors[5] = aclCreateTensor(step_dims, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, step_dims, 1, step);
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  REQUIRE(aclnnApplyFusedEmaAdamGetWorkspaceSize(tensors[0], tensors[1], tensors[2], tensors[3], tensors[4],
                                                 tensors[5], 0.5, 0.5, 0.9, 0.999, 0, 1, true, 0,
                                                 &workspace_bytes, &executor) == ACL_SUCCESS);
  void* workspace = nullptr;
  if (workspace_bytes > 0)
    REQUIRE(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
  REQUIRE(aclnnApplyFusedEmaAdam(workspace, workspace_bytes, executor, stream) == ACL_SUCCESS);
  REQUIRE(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  const float var = to_host<float>(state[0], 4)[3], average = to_host<float>(state[3], 4)[3];
  REQUIRE(var > 0.499f && var < 0.501f && average > 0.749f && average < 0.751f);  // the first step is lr long
  for (int k = 0; k < 6; ++k) aclDestroyTensor(tensors[k]);
  for (int k = 0; k < 4; ++k) aclrtFree(state[k]);
  aclrtFree(grad);
  aclrtFree(step);
  aclrtFree(workspace);
  return 0;
}

}  // namespace

int main() {
  REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
  REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
  REQUIRE(std::strncmp(aclrtGetSocName(), "Ascend910", 9) == 0);
  aclrtStream stream = nullptr;
  REQUIRE(aclrtCreateStream(&stream) == ACL_SUCCESS);
  if (table_gradient(stream) != 0 || optimizer_step(stream) != 0) return 1;
  REQUIRE(aclrtDestroyStream(stream) == ACL_SUCCESS);
  REQUIRE(aclrtResetDevice(0) == ACL_SUCCESS);
  REQUIRE(aclFinalize() == ACL_SUCCESS);
  std::printf("table gradient and optimizer step are right\n");
  return 0;
}
