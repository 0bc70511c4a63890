// GELU and its slope in one pass: both need the same tanh.
#include "gelu_layer.h"

namespace train {

const Matrix& GeluLayer::forward(const Matrix& x) {
  constexpr float kScale = 0.7978845608f, kCubic = 0.044715f;
  output_.resize(x.rows(), x.cols());
  slope_.resize(x.rows(), x.cols());
  for_row_blocks(x.rows(), [&](auto first, auto rows) {
    // Row by row, so that the intermediate values stay in the nearest cache.
    for (auto r = first; r < first + rows; ++r) {
      const auto value = x.row(r).array();
      auto slope = slope_.row(r).array();
      slope = (kScale * value * (1 + kCubic * value.square())).tanh();
      output_.row(r).array() = 0.5f * value * (1 + slope);
      slope = 0.5f * (1 + slope) +
              0.5f * value * (1 - slope.square()) * (kScale * (1 + 3 * kCubic * value.square()));
    }
  });
  return output_;
}

const Matrix& GeluLayer::backward(const Matrix& gradient) {
  input_gradient_.resize(gradient.rows(), gradient.cols());
  for_row_blocks(gradient.rows(), [&](auto first, auto rows) {
    input_gradient_.middleRows(first, rows) =
        gradient.middleRows(first, rows).cwiseProduct(slope_.middleRows(first, rows));
  });
  return input_gradient_;
}

}  // namespace train
