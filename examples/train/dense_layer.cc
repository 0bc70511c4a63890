// The three matrix products of a dense layer, each split into blocks of rows of its result.
#include "dense_layer.h"

namespace train {

DenseLayer::DenseLayer(const std::string& name, int64_t inputs, int64_t outputs, double weight_deviation,
                       Random& random, Operators& operators)
    : stream_(operators.stream()),
      weight_(name + ".weight", {inputs, outputs}, {0, weight_deviation}, /*decays=*/true, random, operators),
      bias_(name + ".bias", {outputs}, {}, /*decays=*/false, random, operators),
      weight_value_(inputs, outputs),
      weight_gradient_(inputs, outputs),
      bias_value_(outputs),
      bias_gradient_(outputs) {
  load(Weights::kRaw);
}

const Matrix& DenseLayer::forward(const Matrix& x) {
  input_ = &x;
  output_.resize(x.rows(), weight_value_.cols());
  for_row_blocks(output_.rows(), [&](auto first, auto rows) {
    auto block = output_.middleRows(first, rows);
    block.rowwise() = bias_value_;
    block.noalias() += x.middleRows(first, rows) * weight_value_;
  });
  return output_;
}

const Matrix& DenseLayer::backward(const Matrix& gradient) {
  const Matrix& x = *input_;
  for_row_blocks(weight_gradient_.rows(), [&](auto first, auto rows) {
    weight_gradient_.middleRows(first, rows).noalias() = x.middleCols(first, rows).transpose() * gradient;
  });
  bias_gradient_ = gradient.colwise().sum();
  input_gradient_.resize(x.rows(), x.cols());
  for_row_blocks(x.rows(), [&](auto first, auto rows) {
    input_gradient_.middleRows(first, rows).noalias() =
        gradient.middleRows(first, rows) * weight_value_.transpose();
  });
  weight_.gradient.upload(elements(weight_gradient_), stream_);
  bias_.gradient.upload(elements(bias_gradient_), stream_);
  return input_gradient_;
}

void DenseLayer::load(Weights which) {
  weight_.value(which).download(elements(weight_value_), stream_);
  bias_.value(which).download(elements(bias_value_), stream_);
}

}  // namespace train
