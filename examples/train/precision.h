// The storage types that all tensors of a run can have, and what training has to change so that it
// learns in each of them.
#pragma once

#include <aclnn/acl_meta.h>

#include <string>
#include <string_view>
#include <vector>

namespace train {

struct Precision {
  std::string_view name;  // on the command line
  aclDataType dtype;
  // Every gradient is this many times the true one, so that small ones survive their conversion.
  // Adam's update does not depend on it.
  double loss_scale;
  double peak_rate;
  // The averages of squared gradients and of the weights. A tensor with p bits follows an average
  // only while (1 - decay) times the distance exceeds half a unit in the last place, so fewer bits
  // need faster averages.
  double beta2;
  double ema_decay;
  // Of the scaled gradient. Larger than the square root of the smallest positive number, so that
  // a second moment that underflowed does not divide.
  double eps;
  // Largest accepted error of a gradient in the check at the start, as a share of the norm of its
  // parameter's gradient.
  double gradient_tolerance;
};

// float32 first: the default.
const std::vector<Precision>& precisions();
// Throws InputError for an unknown name.
const Precision& precision_named(const std::string& name);

}  // namespace train
