// ApplyFusedEmaAdam: arguments, plan, and the coefficients that the formula uses.
#pragma once

#include <cstdint>
#include <string>

#include "base/layout.h"
#include "cpu/dispatch.h"
#include "ops/contract.h"

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

struct EmaAdamArgs {
  Argument grad, var, m, v, s, step;
  EmaAdamAttributes attributes;
};

// Parameters of the call, in the order of the signature.
enum EmaAdamParameter { kEmaGrad, kEmaVar, kEmaM, kEmaV, kEmaS, kEmaStep, kEmaParameters };

// The formula in fp32. Each is rounded once from double.
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

// V7; the list operator has the same attributes and the same fault.
Status check_mode(const EmaAdamAttributes& attributes);
std::string describe_ema_adam_fault(const Fault& fault);

Status check(const EmaAdamArgs& args);
Call plan(const EmaAdamArgs& args);

// The coefficients for update count t, in double from the double attributes. Runs in the task's FP environment.
EmaAdamCoefficients ema_adam_coefficients(const EmaAdamAttributes& attributes, int64_t t);

}  // namespace openaclnn

OPENACLNN_DECLARE_KERNEL(run_ema_adam)
