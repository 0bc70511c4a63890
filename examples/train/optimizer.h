// One aclnnApplyFusedEmaAdam call per parameter and step, and the schedule of its attributes.
#pragma once

#include <vector>

#include "operators.h"
#include "parameter.h"

namespace train {

class Optimizer {
 public:
  Optimizer(std::vector<Parameter*> parameters, int64_t total_steps, Operators& operators);

  // Updates every parameter and its moving average from its gradient.
  void step();

 private:
  // Of the present step, for a parameter that decays or not.
  EmaAdamAttributes attributes(bool decays) const;

  std::vector<Parameter*> parameters_;
  int64_t total_steps_;
  Operators& operators_;
  int64_t step_ = 0;
  DeviceTensor device_step_;
};

}  // namespace train
