// Softmax with the row maximum subtracted first, so that exp never overflows.
#include "softmax_loss.h"

#include <cmath>

namespace train {

double SoftmaxLoss::forward(const Matrix& logits, std::span<const int32_t> targets) {
  probabilities_.resize(logits.rows(), logits.cols());
  losses_.resize(logits.rows());
  for_row_blocks(logits.rows(), [&](auto first, auto rows) {
    for (auto r = first; r < first + rows; ++r) {
      auto p = probabilities_.row(r).array();
      const float largest = logits.row(r).maxCoeff();
      p = (logits.row(r).array() - largest).exp();
      const float sum = p.sum();
      losses_[r] = std::log(sum) + largest - logits(r, targets[r]);
      p /= sum;
    }
  });
  return losses_.cast<double>().sum();
}

const Matrix& SoftmaxLoss::backward(std::span<const int32_t> targets, double scale) {
  const auto factor = static_cast<float>(scale / static_cast<double>(probabilities_.rows()));
  for (Eigen::Index r = 0; r < probabilities_.rows(); ++r) probabilities_(r, targets[r]) -= 1;
  probabilities_ *= factor;
  return probabilities_;
}

}  // namespace train
