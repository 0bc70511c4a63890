// One aclnnApplyFusedEmaAdam call per parameter and step, and the schedule of its attributes.
#pragma once

#include <vector>

#include "operators.h"
#include "parameter.h"
#include "precision.h"

namespace train {

class Optimizer {
 public:
  Optimizer(std::vector<Parameter*> parameters, int64_t total_steps, const Precision& precision,
            Operators& operators);

  // Updates every parameter and its moving average from its gradient.
  void step();

 private:
  // Attributes of the present step.
  EmaAdamAttributes attributes(const Parameter& parameter) const;

  std::vector<Parameter*> parameters_;
  int64_t total_steps_;
  const Precision& precision_;
  Operators& operators_;
  int64_t step_ = 0;
  DeviceTensor device_step_;
};

}  // namespace train
