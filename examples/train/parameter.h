// A trained tensor and everything aclnnApplyFusedEmaAdam keeps for it, all on the device.
#pragma once

#include <string>
#include <vector>

#include "operators.h"
#include "random.h"

namespace train {

// Which of a parameter's two values a model computes with: the trained one or its moving average.
enum class Weights { kRaw, kEma };

// Standard deviation of a matrix whose product with a row has the row's own mean square.
double keeps_variance(int64_t inputs);

// How a parameter starts: uniform around `mean`.
struct Start {
  double mean = 0;
  double standard_deviation = 0;
};

struct Parameter {
  // The moving average starts at the same values, the moments at 0. `decays`: whether weight decay
  // applies (matrices yes, biases and embeddings no: shrinking those regularises nothing).
  Parameter(std::string name, std::vector<int64_t> dims, Start start, bool decays, Random& random,
            Operators& operators);

  const DeviceTensor& value(Weights which) const { return which == Weights::kRaw ? var : ema; }

  std::string name;
  DeviceTensor var;
  DeviceTensor m;
  DeviceTensor v;
  DeviceTensor ema;
  DeviceTensor gradient;  // filled by the layer's backward pass
  bool decays;
  double rate = 1;  // share of the optimizer's learning rate
};

}  // namespace train
