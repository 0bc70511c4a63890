// Planted bugs for wrong_operator_test.sh. In a second copy of the demo, these definitions replace
// the library's and change the operator that OPENACLNN_TRAIN_WRONG names. The demo's oracle has to
// notice each of them, and its gradient check all but the optimizer's.
#include <acl/acl.h>
#include <aclnnop/aclnn_apply_fused_ema_adam.h>
#include <aclnnop/aclnn_embedding.h>
#include <aclnnop/aclnn_embedding_dense_backward.h>
#include <aclnnop/aclnn_grouped_bias_add_grad.h>
#include <aclnnop/aclnn_nsa_compress.h>
#include <aclnnop/aclnn_nsa_compress_grad.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

bool spoiled(const char* name) {
  const char* chosen = std::getenv("OPENACLNN_TRAIN_WRONG");
  return chosen && std::strcmp(chosen, name) == 0;
}

// The library's own function of that name.
template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The same memory with the first dimension of a contiguous matrix read from its end.
const aclTensor* backwards(const aclTensor* matrix) {
  int64_t* dims = nullptr;
  uint64_t rank = 0;
  void* address = nullptr;
  aclDataType dtype = ACL_FLOAT;
  aclGetViewShape(matrix, &dims, &rank);
  aclGetRawTensorAddr(matrix, &address);
  aclGetDataType(matrix, &dtype);
  const int64_t strides[] = {-dims[1], 1};
  const aclTensor* turned =
      aclCreateTensor(dims, 2, dtype, strides, (dims[0] - 1) * dims[1], ACL_FORMAT_ND, dims, 2, address);
  delete[] dims;
  return turned;
}

// The group ends of the newest aclnnGroupedBiasAddGrad.
const aclTensor* group_ends = nullptr;

}  // namespace

extern "C" {

// beta1 is off by one part in a million.
aclnnStatus aclnnApplyFusedEmaAdamGetWorkspaceSize(const aclTensor* grad, aclTensor* var, aclTensor* m,
                                                   aclTensor* v, aclTensor* s, const aclTensor* step,
                                                   double lr, double ema_decay, double beta1, double beta2,
                                                   double eps, int64_t mode, bool bias_correction,
                                                   double weight_decay, uint64_t* workspace_bytes,
                                                   aclOpExecutor** executor) {
  const double beta = spoiled("aclnnApplyFusedEmaAdam") ? beta1 * (1 + 1e-6) : beta1;
  return original<decltype(aclnnApplyFusedEmaAdamGetWorkspaceSize)>(__func__)(
      grad, var, m, v, s, step, lr, ema_decay, beta, beta2, eps, mode, bias_correction, weight_decay,
      workspace_bytes, executor);
}

// One byte value of the text, 'e', counts as padding and gets no gradient. In the small model of
// the gradient check it is the byte at the same share of the table.
aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(const aclTensor* grad, const aclTensor* indices,
                                                        uint64_t rows, uint64_t padding, bool scale,
                                                        const aclTensor* out, uint64_t* workspace_bytes,
                                                        aclOpExecutor** executor) {
  const uint64_t row = spoiled("aclnnEmbeddingDenseBackward") ? rows * 'e' / 256 : padding;
  return original<decltype(aclnnEmbeddingDenseBackwardGetWorkspaceSize)>(__func__)(
      grad, indices, rows, row, scale, out, workspace_bytes, executor);
}

// The table of vectors is read from its end.
aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor* weight, const aclTensor* indices,
                                           const aclTensor* out, uint64_t* workspace_bytes,
                                           aclOpExecutor** executor) {
  auto* const call = original<decltype(aclnnEmbeddingGetWorkspaceSize)>(__func__);
  if (!spoiled("aclnnEmbedding")) return call(weight, indices, out, workspace_bytes, executor);
  const aclTensor* turned = backwards(weight);
  const aclnnStatus status = call(turned, indices, out, workspace_bytes, executor);
  aclDestroyTensor(turned);
  return status;
}

// The weights of a block are read from its end.
aclnnStatus aclnnNsaCompressGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                             const aclIntArray* lengths, char* layout, int64_t block,
                                             int64_t stride, int64_t lengths_type, aclTensor* output,
                                             uint64_t* workspace_bytes, aclOpExecutor** executor) {
  auto* const call = original<decltype(aclnnNsaCompressGetWorkspaceSize)>(__func__);
  if (!spoiled("aclnnNsaCompress"))
    return call(input, weight, lengths, layout, block, stride, lengths_type, output, workspace_bytes,
                executor);
  const aclTensor* turned = backwards(weight);
  const aclnnStatus status =
      call(input, turned, lengths, layout, block, stride, lengths_type, output, workspace_bytes, executor);
  aclDestroyTensor(turned);
  return status;
}

// Spoils one of the two results: the gradient of the input reads its weights from the end, or the
// gradient of the weights is written from its end.
aclnnStatus aclnnNsaCompressGradGetWorkspaceSize(const aclTensor* output_grad, const aclTensor* input,
                                                 const aclTensor* weight, const aclIntArray* lengths,
                                                 int64_t block, int64_t stride, int64_t lengths_type,
                                                 char* layout, const aclTensor* input_grad,
                                                 const aclTensor* weight_grad, uint64_t* workspace_bytes,
                                                 aclOpExecutor** executor) {
  auto* const call = original<decltype(aclnnNsaCompressGradGetWorkspaceSize)>(__func__);
  const aclTensor *used_weight = weight, *turned = nullptr;
  if (spoiled("aclnnNsaCompressGrad input")) used_weight = turned = backwards(weight);
  if (spoiled("aclnnNsaCompressGrad weight")) {
    // Outputs with negative strides are legal.
    weight_grad = turned = backwards(weight_grad);
  }
  const aclnnStatus status = call(output_grad, input, used_weight, lengths, block, stride, lengths_type,
                                  layout, input_grad, weight_grad, workspace_bytes, executor);
  if (turned) aclDestroyTensor(turned);
  return status;
}

aclnnStatus aclnnGroupedBiasAddGradGetWorkspaceSize(const aclTensor* grad, const aclTensor* ends,
                                                    aclTensor* out, uint64_t* workspace_bytes,
                                                    aclOpExecutor** executor) {
  group_ends = ends;
  return original<decltype(aclnnGroupedBiasAddGradGetWorkspaceSize)>(__func__)(grad, ends, out,
                                                                               workspace_bytes, executor);
}

// The first group ends one row early while the operator runs.
aclnnStatus aclnnGroupedBiasAddGrad(void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                                    aclrtStream stream) {
  auto* const call = original<decltype(aclnnGroupedBiasAddGrad)>(__func__);
  if (!spoiled("aclnnGroupedBiasAddGrad")) return call(workspace, workspace_bytes, executor, stream);
  void* address = nullptr;
  aclGetRawTensorAddr(group_ends, &address);
  int64_t end = 0;
  aclrtSynchronizeStream(stream);
  aclrtMemcpy(&end, sizeof end, address, sizeof end, ACL_MEMCPY_DEVICE_TO_HOST);
  const int64_t early = end > 0 ? end - 1 : 0;
  aclrtMemcpy(address, sizeof early, &early, sizeof early, ACL_MEMCPY_HOST_TO_DEVICE);
  const aclnnStatus status = call(workspace, workspace_bytes, executor, stream);
  aclrtSynchronizeStream(stream);
  aclrtMemcpy(address, sizeof end, &end, sizeof end, ACL_MEMCPY_HOST_TO_DEVICE);
  return status;
}

}  // extern "C"
