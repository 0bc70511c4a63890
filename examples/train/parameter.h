// A trained tensor and everything aclnnApplyFusedEmaAdam keeps for it, all on the device.
#pragma once

#include <span>

#include "device.h"
#include "random.h"

namespace train {

// Which of a parameter's two values a model computes with: the trained one or its moving average.
enum class Weights { kRaw, kEma };

struct Parameter {
  // Starts uniform with the given standard deviation; the moving average starts at the same values,
  // the moments at 0. `weight_decay`: whether weight decay applies (matrices yes, biases and
  // embeddings no: shrinking those regularises nothing).
  Parameter(std::vector<int64_t> dims, double standard_deviation, bool weight_decay, Random& random,
            const Stream& stream);

  const DeviceTensor& value(Weights which) const { return which == Weights::kRaw ? var : ema; }

  DeviceTensor var;
  DeviceTensor m;
  DeviceTensor v;
  DeviceTensor ema;
  DeviceTensor gradient;  // filled by the layer's backward pass
  bool decays;
};

}  // namespace train
