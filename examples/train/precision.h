// The storage types that all tensors of a run can have, and the settings with which training works
// in each of them.
#pragma once

#include <aclnn/acl_meta.h>

#include <string>
#include <string_view>

namespace train {

struct Precision {
  std::string_view name;  // on the command line
  aclDataType dtype;
  // Every gradient is this many times the true one, so that small ones survive their conversion.
  // Adam's update does not depend on it.
  double loss_scale;
  // Decays of the averages of squared gradients and of the weights. A number with p bits follows an
  // average only while (1 - decay) times the distance to the new value exceeds half a unit in its
  // last place. Fewer bits therefore need faster averages.
  double beta2;
  double ema_decay;
  // Added to the root of the second moment, which has the size of a scaled gradient. In fp16 a
  // second moment below 6e-8 is stored as 0, and this is then the whole divisor.
  double eps;
  // Largest accepted error of a gradient in the check at the start, as a share of the norm of its
  // parameter's gradient: 5 to 25 times what is measured.
  double gradient_tolerance;
};

// Throws InputError for an unknown name.
const Precision& precision_named(const std::string& name);

}  // namespace train
