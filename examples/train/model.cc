// The layers in order, there and back.
#include "model.h"

#include <cmath>

namespace train {
namespace {
double keeps_variance(int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }
}  // namespace

Model::Model(Random& random, Operators& operators)
    : embedding_(kBytes, kWidth, random, operators),
      hidden_(kContext * kWidth, kHidden, 1.5 * keeps_variance(kContext * kWidth), random,
              operators.stream()),
      second_(kHidden, kHidden, 1.5 * keeps_variance(kHidden), random, operators.stream()),
      output_(kHidden, kBytes, 0.2 * keeps_variance(kHidden), random, operators.stream()) {}

const Matrix& Model::logits(std::span<const int32_t> contexts, int64_t rows) {
  const Matrix& hidden = hidden_activation_.forward(hidden_.forward(embedding_.forward(contexts, rows)));
  return output_.forward(second_activation_.forward(second_.forward(hidden)));
}

double Model::summed_loss(const Batch& batch) {
  return loss_.forward(logits(batch.contexts, batch.rows()), batch.targets);
}

double Model::forward_backward(const Batch& batch) {
  const double loss = summed_loss(batch) / static_cast<double>(batch.rows());
  const Matrix& gradient = second_activation_.backward(output_.backward(loss_.backward(batch.targets)));
  embedding_.backward(hidden_.backward(hidden_activation_.backward(second_.backward(gradient))));
  return loss;
}

void Model::load(Weights which) {
  embedding_.load(which);
  for (DenseLayer* layer : {&hidden_, &second_, &output_}) layer->load(which);
}

std::vector<Parameter*> Model::parameters() {
  std::vector<Parameter*> all = embedding_.parameters();
  for (DenseLayer* layer : {&hidden_, &second_, &output_})
    for (Parameter* parameter : layer->parameters()) all.push_back(parameter);
  return all;
}

}  // namespace train
