// The first phases of the operators for JAX, for arrays that XLA passes and for arrays that are only traced.
#pragma once

#include <cstdint>
#include <span>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"

namespace openaclnn::python::jax_calls {

// A contiguous array. The first phases don't read its elements.
struct View {
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::span<const int64_t> dims;
  void* data = nullptr;
};

// The results of a first phase.
struct Out {
  uint64_t* workspace_bytes;
  aclOpExecutor** executor;
};

struct Windows {
  int64_t block, stride;
  std::span<const int64_t> lengths;  // none: one sequence of all tokens
  int64_t type;
};

struct Step {
  int64_t count;
  double lr, ema_decay, beta1, beta2, eps;
  int64_t mode;
  bool bias_correction;
  double weight_decay;
};

// All return a code.
int embedding(const View& weight, const View& indices, const View& out, Out phase1);
int embedding_dense_backward(const View& grad, const View& indices, const View& out, int64_t padding_idx,
                             bool scale, Out phase1);
int grouped_bias_add_grad(const View& grad_y, const View& group_idx, const View& out, int64_t type,
                          Out phase1);
int nsa_compress(const View& input, const View& weight, const View& out, const Windows& windows, Out phase1);
int nsa_compress_grad(const View& grad, const View& input, const View& weight, const View& input_grad,
                      const View& weight_grad, const Windows& windows, Out phase1);
// `step` is read in the second phase and must live until then.
int apply_fused_ema_adam(const View& grad, const View& var, const View& m, const View& v, const View& s,
                         Step& step, Out phase1);

}  // namespace openaclnn::python::jax_calls
