// Calls the first phases of the operators with arrays of JAX.
#include "jax_calls.h"

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "call.h"

namespace openaclnn::python::jax_calls {

namespace {

Tensor tensor_of(const View& view) {
  return Tensor(aclCreateTensor(view.dims.data(), view.dims.size(), view.dtype, nullptr, 0, ACL_FORMAT_ND,
                                view.dims.data(), view.dims.size(), view.data));
}

// Without lengths the operators search for batches with as many windows. These functions mean one sequence,
// whose length jax.export may not know.
IntArray sequences_of(const Windows& windows, const View& input) {
  const bool is_one = windows.lengths.empty() && !input.dims.empty();
  return make_int_array(is_one ? input.dims.first(1) : windows.lengths);
}

}  // namespace

int embedding(const View& weight, const View& indices, const View& out, Out phase1) {
  return aclnnEmbeddingGetWorkspaceSize(tensor_of(weight).get(), tensor_of(indices).get(),
                                        tensor_of(out).get(), phase1.workspace_bytes, phase1.executor);
}

int embedding_dense_backward(const View& grad, const View& indices, const View& out, int64_t padding_idx,
                             bool scale, Out phase1) {
  return aclnnEmbeddingDenseBackwardGetWorkspaceSize(
      tensor_of(grad).get(), tensor_of(indices).get(), static_cast<uint64_t>(out.dims[0]),
      static_cast<uint64_t>(padding_idx), scale, tensor_of(out).get(), phase1.workspace_bytes,
      phase1.executor);
}

int grouped_bias_add_grad(const View& grad_y, const View& group_idx, const View& out, int64_t type,
                          Out phase1) {
  return aclnnGroupedBiasAddGradV2GetWorkspaceSize(tensor_of(grad_y).get(), tensor_of(group_idx).get(), type,
                                                   tensor_of(out).get(), phase1.workspace_bytes,
                                                   phase1.executor);
}

int nsa_compress(const View& input, const View& weight, const View& out, const Windows& windows, Out phase1) {
  const IntArray sequences = sequences_of(windows, input);
  return aclnnNsaCompressGetWorkspaceSize(tensor_of(input).get(), tensor_of(weight).get(), sequences.get(),
                                          nullptr, windows.block, windows.stride, windows.type,
                                          tensor_of(out).get(), phase1.workspace_bytes, phase1.executor);
}

int nsa_compress_grad(const View& grad, const View& input, const View& weight, const View& input_grad,
                      const View& weight_grad, const Windows& windows, Out phase1) {
  const IntArray sequences = sequences_of(windows, input);
  return aclnnNsaCompressGradGetWorkspaceSize(
      tensor_of(grad).get(), tensor_of(input).get(), tensor_of(weight).get(), sequences.get(), windows.block,
      windows.stride, windows.type, nullptr, tensor_of(input_grad).get(), tensor_of(weight_grad).get(),
      phase1.workspace_bytes, phase1.executor);
}

int apply_fused_ema_adam(const View& grad, const View& var, const View& m, const View& v, const View& s,
                         Step& step, Out phase1) {
  const Tensor number(
      aclCreateTensor(nullptr, 0, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, &step.count));
  return aclnnApplyFusedEmaAdamGetWorkspaceSize(
      tensor_of(grad).get(), tensor_of(var).get(), tensor_of(m).get(), tensor_of(v).get(), tensor_of(s).get(),
      number.get(), step.lr, step.ema_decay, step.beta1, step.beta2, step.eps, step.mode,
      step.bias_correction, step.weight_decay, phase1.workspace_bytes, phase1.executor);
}

}  // namespace openaclnn::python::jax_calls
