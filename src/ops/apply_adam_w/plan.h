// ApplyAdamW: what its kernels read, on every device.
#pragma once

#include <array>
#include <cstdint>

#include "acl/acl_base.h"
#include "base/loop_nest.h"

namespace openaclnn {

// The tensors that the formula walks over, in the order of the loops.
enum AdamWOperand { kAdamWVar, kAdamWM, kAdamWV, kAdamWGrad, kAdamWMaximum, kAdamWOperands };

// The numbers that the first version takes as tensors, in the order of the signature.
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

// Where the numbers of the formula come from, and where amsgrad keeps its maximum.
enum class AdamWVersion {
  first,   // seven tensors of one element; the maximum goes to vRef
  second,  // attributes, and a tensor that counts the steps; the maximum has a tensor of its own
};

// The numbers of the formula, as they are given: exact in double.
struct AdamWNumbers {
  double lr, beta1, beta2, weight_decay, eps;
};

// One number in device memory.
struct AdamWNumberPlace {
  int parameter;   // of the call
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

// The formula in fp32. Each is rounded once from double.
struct AdamWCoefficients {
  float direction;  // -1: the gradient is followed upwards
  float one_minus_beta1, beta2, one_minus_beta2;
  float decay;       // 1 - lr * weight_decay
  float step_size;   // lr / (1 - beta1^t)
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float eps;
};

}  // namespace openaclnn
