// Compares all gradients of a small instance of the model with central differences. This shows that
// the layers and the operators between them fit together, which no operator's own test can show.
#pragma once

#include <cstdint>

#include "device.h"
#include "precision.h"

namespace train {

struct GradientCheck {
  int64_t gradients = 0;
  double worst = 0;  // largest error as a share of the norm of its parameter's gradient
};

// Throws RunError for a wrong gradient. `with_oracle`: each operator call is also recomputed.
GradientCheck check_gradients(const Precision& precision, bool with_oracle, const Stream& stream);

}  // namespace train
