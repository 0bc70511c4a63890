// The model's loss a second time, for the gradient check: plain loops in double, written from the
// formulas and sharing no arithmetic with the layers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model.h"

namespace train {

// Parameters by name, in the memory order of their tensors.
using ReferenceValues = std::map<std::string, std::vector<double>>;

struct ReferenceLoss {
  // The function that the layers differentiate: mean cross-entropy plus the routing term of the
  // experts.
  double loss = 0;
  // Least distance of the two largest router logits of a row: while it is far from 0, small changes
  // leave every row with its expert, and the loss is smooth.
  double routing_margin = 0;
};

ReferenceLoss reference_loss(const ModelShape& shape, const Batch& batch, const ReferenceValues& values);

}  // namespace train
