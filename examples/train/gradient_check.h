// All gradients of a small instance of the model against central differences: shows that the layers
// and the operators between them fit together, which no operator's own test can.
#pragma once

#include <cstdint>

#include "device.h"
#include "precision.h"

namespace train {

struct GradientCheck {
  int64_t gradients = 0;
  double worst = 0;  // largest error as a share of the norm of its parameter's gradient
};

// Throws RunError for a gradient that is off. `with_oracle`: each operator call is recomputed too.
GradientCheck check_gradients(const Precision& precision, bool with_oracle, const Stream& stream);

}  // namespace train
