// Planted bugs for wrong_operator_test.sh: linked into a second copy of the demo, these definitions
// stand in front of the library's and spoil the operator that OPENACLNN_TRAIN_WRONG names. The demo
// has to notice each of them.
#include <aclnnop/aclnn_apply_fused_ema_adam.h>
#include <aclnnop/aclnn_embedding.h>
#include <aclnnop/aclnn_embedding_dense_backward.h>
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

// The letter 'e' is taken for padding and gets no gradient.
aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(const aclTensor* grad, const aclTensor* indices,
                                                        uint64_t rows, uint64_t padding, bool scale,
                                                        const aclTensor* out, uint64_t* workspace_bytes,
                                                        aclOpExecutor** executor) {
  const uint64_t row = spoiled("aclnnEmbeddingDenseBackward") ? 'e' : padding;
  return original<decltype(aclnnEmbeddingDenseBackwardGetWorkspaceSize)>(__func__)(
      grad, indices, rows, row, scale, out, workspace_bytes, executor);
}

// Every byte gets the vector of the next byte value.
aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor* weight, const aclTensor* indices,
                                           const aclTensor* out, uint64_t* workspace_bytes,
                                           aclOpExecutor** executor) {
  auto* const call = original<decltype(aclnnEmbeddingGetWorkspaceSize)>(__func__);
  if (!spoiled("aclnnEmbedding")) return call(weight, indices, out, workspace_bytes, executor);
  int64_t* dims = nullptr;
  uint64_t rank = 0;
  void* address = nullptr;
  aclGetViewShape(weight, &dims, &rank);
  aclGetRawTensorAddr(weight, &address);
  const int64_t rows_after_first[] = {dims[0] - 1, dims[1]};
  const aclTensor* shifted =
      aclCreateTensor(rows_after_first, 2, ACL_FLOAT, nullptr, dims[1], ACL_FORMAT_ND, dims, 2, address);
  delete[] dims;
  const aclnnStatus status = call(shifted, indices, out, workspace_bytes, executor);
  aclDestroyTensor(shifted);
  return status;
}

}  // extern "C"
