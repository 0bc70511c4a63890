// Cross-entropy of a softmax over the next byte.
#pragma once

#include <cstdint>
#include <span>

#include "matrix.h"

namespace train {

class SoftmaxLoss {
 public:
  // Sum over the rows of -log softmax(logits)[target], in nats.
  double forward(const Matrix& logits, std::span<const int32_t> targets);
  // Gradient of `scale` times the mean over the rows, for the logits of the last forward.
  const Matrix& backward(std::span<const int32_t> targets, double scale);

 private:
  Matrix probabilities_;
  Eigen::VectorXf losses_;
};

}  // namespace train
