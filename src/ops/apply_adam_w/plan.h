// ApplyAdamW: the plan that kernels of all devices read.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

// The tensors of the formula, in the order of the loops.
enum AdamWOperand { kAdamWVar, kAdamWM, kAdamWV, kAdamWGrad, kAdamWMaximum, kAdamWOperands };

// The hyperparameters that the first version takes as tensors, in the order of the signature.
enum AdamWScalar {
  kAdamWBeta1Power,
  kAdamWBeta2Power,
  kAdamWLr,
  kAdamWWeightDecay,
  kAdamWBeta1,
  kAdamWBeta2,
  kAdamWEps,
  kAdamWScalars
};

// The source of the hyperparameters, and the location of amsgrad's maximum.
enum class AdamWVersion {
  first,   // seven tensors of one element; the maximum goes to vRef
  second,  // attributes, and a tensor with the step count; the maximum has its own tensor
};

// The hyperparameters as passed: exact in double.
struct AdamWNumbers {
  double lr, beta1, beta2, weight_decay, eps;
};

// The location of one hyperparameter in device memory.
struct AdamWNumberPlace {
  int parameter;   // index in the call
  int64_t offset;  // elements
};

struct AdamWPlan {
  AdamWVersion version;
  bool amsgrad, maximize;
  AdamWNumbers numbers;  // second version
  std::array<aclDataType, kAdamWOperands> dtypes;
  aclDataType step_dtype;
  LoopNest<kAdamWOperands> nest;  // without amsgrad the maximum repeats var
  std::array<int, kAdamWOperands> parameters;
  std::array<int64_t, kAdamWOperands> offsets;  // elements
  std::array<AdamWNumberPlace, kAdamWScalars> scalars;
  AdamWNumberPlace step;
  int64_t numel;
  int64_t bytes_per_element;  // read and written
};

// The coefficients in fp32, each rounded once from double.
struct AdamWCoefficients {
  float direction;  // -1 for maximize
  float one_minus_beta1, beta2, one_minus_beta2;
  float decay;       // 1 - lr * weight_decay
  float step_size;   // lr / (1 - beta1^t)
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float eps;
};

}  // namespace openaclnn
