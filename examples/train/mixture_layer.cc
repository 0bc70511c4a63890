// Routing, sorting, and the gradient that reaches the router through the probability of its choice.
#include "mixture_layer.h"

#include <algorithm>

namespace train {

MixtureLayer::MixtureLayer(const std::string& name, int64_t width, int64_t experts, int64_t expert_width,
                           Random& random, Operators& operators)
    : router_(name + ".router", width, experts, keeps_variance(width), random, operators),
      first_(name + ".first", experts, width, expert_width, 1.5 * keeps_variance(width), random, operators),
      second_(name + ".second", experts, expert_width, width, 0.3 * keeps_variance(expert_width), random,
              operators),
      ends_(static_cast<size_t>(experts)) {}

void MixtureLayer::route(const Matrix& logits) {
  const auto rows = static_cast<size_t>(logits.rows());
  probabilities_.resize(logits.rows(), logits.cols());
  expert_.resize(rows);
  order_.resize(rows);
  std::fill(ends_.begin(), ends_.end(), 0);
  for (Eigen::Index r = 0; r < logits.rows(); ++r) {
    const float largest = logits.row(r).maxCoeff(&expert_[static_cast<size_t>(r)]);
    probabilities_.row(r).array() = (logits.row(r).array() - largest).exp();
    probabilities_.row(r) /= probabilities_.row(r).sum();
    ++ends_[static_cast<size_t>(expert_[static_cast<size_t>(r)])];
  }
  // A counting sort: rows of one expert keep their order.
  std::vector<int64_t> next(ends_.size());
  for (size_t e = 1; e < ends_.size(); ++e) {
    next[e] = ends_[e - 1];
    ends_[e] += ends_[e - 1];
  }
  for (size_t r = 0; r < rows; ++r)
    order_[static_cast<size_t>(next[static_cast<size_t>(expert_[r])]++)] = static_cast<int64_t>(r);
}

const Matrix& MixtureLayer::forward(const Matrix& x) {
  route(router_.forward(x));
  sorted_.resize(x.rows(), x.cols());
  output_.resize(x.rows(), x.cols());
  for_row_blocks(x.rows(), [&](auto first, auto rows) {
    for (auto i = first; i < first + rows; ++i) sorted_.row(i) = x.row(order_[static_cast<size_t>(i)]);
  });
  sorted_output_ = &second_.forward(activation_.forward(first_.forward(sorted_, ends_)), ends_);
  for_row_blocks(x.rows(), [&](auto first, auto rows) {
    for (auto i = first; i < first + rows; ++i) {
      const auto r = order_[static_cast<size_t>(i)];
      output_.row(r) = probabilities_(r, expert_[static_cast<size_t>(r)]) * sorted_output_->row(i);
    }
  });
  return output_;
}

const Matrix& MixtureLayer::backward(const Matrix& gradient, double loss_scale) {
  const auto experts = probabilities_.cols();
  RowVector balance(experts);  // gradient of the routing term for a probability
  for (Eigen::Index e = 0; e < experts; ++e) {
    const int64_t begin = e == 0 ? 0 : ends_[static_cast<size_t>(e - 1)];
    const double share =
        static_cast<double>(ends_[static_cast<size_t>(e)] - begin) / static_cast<double>(gradient.rows());
    balance[e] = static_cast<float>(loss_scale * kBalance * static_cast<double>(experts) * share /
                                    static_cast<double>(gradient.rows()));
  }
  sorted_gradient_.resize(gradient.rows(), gradient.cols());
  logits_gradient_.resize(gradient.rows(), experts);
  for_row_blocks(gradient.rows(), [&](auto first, auto rows) {
    for (auto i = first; i < first + rows; ++i) {
      const auto r = order_[static_cast<size_t>(i)];
      const auto chosen = expert_[static_cast<size_t>(r)];
      const auto p = probabilities_.row(r).array();
      sorted_gradient_.row(i) = p[chosen] * gradient.row(r);
      auto logits = logits_gradient_.row(r).array();
      logits = balance.array();  // of the probabilities so far
      logits[chosen] += gradient.row(r).dot(sorted_output_->row(i));
      logits = p * (logits - (p * logits).sum());
    }
  });
  const Matrix& expert_gradient = first_.backward(activation_.backward(second_.backward(sorted_gradient_)));
  input_gradient_ = router_.backward(logits_gradient_);
  for_row_blocks(gradient.rows(), [&](auto first, auto rows) {
    for (auto i = first; i < first + rows; ++i)
      input_gradient_.row(order_[static_cast<size_t>(i)]) += expert_gradient.row(i);
  });
  return input_gradient_;
}

void MixtureLayer::load(Weights which) {
  router_.load(which);
  for (GroupedDenseLayer* layer : {&first_, &second_}) layer->load(which);
}

std::vector<Parameter*> MixtureLayer::parameters() {
  std::vector<Parameter*> all = router_.parameters();
  for (GroupedDenseLayer* layer : {&first_, &second_})
    for (Parameter* parameter : layer->parameters()) all.push_back(parameter);
  return all;
}

}  // namespace train
