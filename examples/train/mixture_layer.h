// A mixture of experts: a router sends every row to one of a few small networks, so that the model
// has the parameters of all of them and pays for one.
#pragma once

#include <string>
#include <vector>

#include "dense_layer.h"
#include "gelu_layer.h"
#include "grouped_dense_layer.h"

namespace train {

class MixtureLayer {
 public:
  // Weight of the loss term experts * sum_e(share of rows of e * mean probability of e), which is
  // least when all experts get equally many rows; without it one expert would get them all.
  static constexpr double kBalance = 0.01;

  MixtureLayer(const std::string& name, int64_t width, int64_t experts, int64_t expert_width, Random& random,
               Operators& operators);

  // y = probability of the chosen expert * expert(x). `x` must stay as it is until the backward
  // pass.
  const Matrix& forward(const Matrix& x);
  // The routing term is added here; like the other gradients it is scaled by `loss_scale`.
  const Matrix& backward(const Matrix& gradient, double loss_scale);

  void load(Weights which);
  std::vector<Parameter*> parameters();

 private:
  void route(const Matrix& logits);

  DenseLayer router_;
  GroupedDenseLayer first_;
  GeluLayer activation_;
  GroupedDenseLayer second_;
  Matrix probabilities_;         // [rows, experts]
  std::vector<int64_t> ends_;    // of each expert's rows in the sorted order
  std::vector<int64_t> order_;   // the row at each place of the sorted order
  std::vector<int64_t> expert_;  // of each row
  Matrix sorted_, output_, sorted_gradient_, logits_gradient_, input_gradient_;
  const Matrix* sorted_output_ = nullptr;
};

}  // namespace train
