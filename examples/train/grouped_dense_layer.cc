// The three matrix products of each group, split into blocks of rows, and the bias gradients on the
// device.
#include "grouped_dense_layer.h"

namespace train {

GroupedDenseLayer::GroupedDenseLayer(const std::string& name, int64_t groups, int64_t inputs, int64_t outputs,
                                     double weight_deviation, Random& random, Operators& operators)
    : operators_(operators),
      inputs_(inputs),
      weight_(name + ".weight", {groups, inputs, outputs}, {0, weight_deviation}, /*decays=*/true, random,
              operators),
      bias_(name + ".bias", {groups, outputs}, {}, /*decays=*/false, random, operators),
      weight_value_(groups * inputs, outputs),
      weight_gradient_(groups * inputs, outputs),
      bias_value_(groups, outputs),
      device_ends_({groups}, ACL_INT64) {
  load(Weights::kRaw);
}

const Matrix& GroupedDenseLayer::forward(const Matrix& x, std::span<const int64_t> ends) {
  input_ = &x;
  ends_.assign(ends.begin(), ends.end());
  blocks_.clear();
  for (int64_t group = 0; group < bias_value_.rows(); ++group)
    for (int64_t first = begin(group), last = first + rows(group); first < last; first += kBlockRows)
      blocks_.push_back({group, first, std::min(kBlockRows, last - first)});
  output_.resize(x.rows(), bias_value_.cols());
  for_each(blocks_, [&](const RowBlock& block) {
    auto y = output_.middleRows(block.first, block.rows);
    y.rowwise() = bias_value_.row(block.group);
    y.noalias() += x.middleRows(block.first, block.rows) * group_weight(block.group);
  });
  return output_;
}

const Matrix& GroupedDenseLayer::backward(const Matrix& gradient) {
  const Matrix& x = *input_;
  if (!device_gradient_ || device_gradient_->dims() != std::vector<int64_t>{gradient.rows(), gradient.cols()})
    device_gradient_.emplace(std::vector<int64_t>{gradient.rows(), gradient.cols()}, operators_.dtype());
  device_ends_.upload(ends_, operators_.stream());
  device_gradient_->upload(elements(gradient), operators_.stream());
  operators_.grouped_bias_add_grad(*device_gradient_, device_ends_, bias_.gradient);

  for (int64_t group = 0; group < bias_value_.rows(); ++group) {
    const auto group_x = x.middleRows(begin(group), rows(group));
    const auto group_gradient = gradient.middleRows(begin(group), rows(group));
    for_row_blocks(inputs_, [&](auto first, auto count) {
      weight_gradient_.middleRows(group * inputs_ + first, count).noalias() =
          group_x.middleCols(first, count).transpose() * group_gradient;
    });
  }
  input_gradient_.resize(x.rows(), x.cols());
  for_each(blocks_, [&](const RowBlock& block) {
    input_gradient_.middleRows(block.first, block.rows).noalias() =
        gradient.middleRows(block.first, block.rows) * group_weight(block.group).transpose();
  });
  weight_.gradient.upload(elements(weight_gradient_), operators_.stream());
  return input_gradient_;
}

void GroupedDenseLayer::load(Weights which) {
  weight_.value(which).download(elements(weight_value_), operators_.stream());
  bias_.value(which).download(elements(bias_value_), operators_.stream());
}

}  // namespace train
