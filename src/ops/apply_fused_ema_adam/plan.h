// ApplyFusedEmaAdam: the plan that kernels of all devices read.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

struct EmaAdamAttributes {
  double lr;
  double ema_decay;
  double beta1;
  double beta2;
  double eps;
  int64_t mode;
  bool bias_correction;
  double weight_decay;
};

// Parameters of the call, in the order of the signature.
enum EmaAdamParameter { kEmaGrad, kEmaVar, kEmaM, kEmaV, kEmaS, kEmaStep, kEmaParameters };

// The coefficients in fp32, each rounded once from double.
struct EmaAdamCoefficients {
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float lr, eps, weight_decay;
  float ema_decay, one_minus_ema;
  float m_scale, v_scale;  // 1 / (1 - beta^t), or 1 without bias correction
  bool decoupled;          // mode 1
};

struct EmaAdamPlan {
  EmaAdamAttributes attributes;
  aclDataType dtype;
  LoopNest<kEmaStep> nest;          // grad, var, m, v, s in one visiting order
  int64_t offsets[kEmaParameters];  // elements
  int64_t numel;
};

}  // namespace openaclnn
