// The layers in order, there and back; attention and experts each add to what they read.
#include "model.h"

namespace train {

Model::Model(const ModelShape& shape, Random& random, Operators& operators)
    : embedding_("embedding", shape.bytes, shape.byte_width, random, operators),
      hidden_("hidden", shape.context * shape.byte_width, shape.width,
              1.5 * keeps_variance(shape.context * shape.byte_width), random, operators),
      attention_("attention", shape.width, shape.attention, random, operators),
      mixture_("mixture", shape.width, shape.experts, shape.expert_width, random, operators),
      output_("output", shape.width, shape.bytes, 0.2 * keeps_variance(shape.width), random, operators) {
  // Attention and experts choose (softmax, routing), and large steps repeatedly reverse their
  // choices: at the full rate the first thousand steps end 0.03 nats higher.
  for (Parameter* parameter : attention_.parameters()) parameter->rate = 0.3;
  for (Parameter* parameter : mixture_.parameters()) parameter->rate = 0.5;
}

const Matrix& Model::logits(std::span<const int32_t> contexts, const Sequences& sequences) {
  const Matrix& bytes = embedding_.forward(contexts, sequences.rows());
  const Matrix& hidden = hidden_activation_.forward(hidden_.forward(bytes));
  after_attention_ = hidden + attention_.forward(hidden, sequences);
  after_mixture_ = after_attention_ + mixture_.forward(after_attention_);
  return output_.forward(after_mixture_);
}

double Model::summed_loss(const Batch& batch) {
  return loss_.forward(logits(batch.contexts, batch.sequences), batch.targets);
}

double Model::forward_backward(const Batch& batch, double loss_scale) {
  const double loss = summed_loss(batch) / static_cast<double>(batch.rows());
  gradient_ = output_.backward(loss_.backward(batch.targets, loss_scale));
  gradient_ += mixture_.backward(gradient_, loss_scale);
  gradient_ += attention_.backward(gradient_);
  embedding_.backward(hidden_.backward(hidden_activation_.backward(gradient_)));
  return loss;
}

void Model::load(Weights which) {
  embedding_.load(which);
  hidden_.load(which);
  attention_.load(which);
  mixture_.load(which);
  output_.load(which);
}

std::vector<Parameter*> Model::parameters() {
  std::vector<Parameter*> all;
  const auto add = [&](auto& layer) {
    for (Parameter* parameter : layer.parameters()) all.push_back(parameter);
  };
  add(embedding_);
  add(hidden_);
  add(attention_);
  add(mixture_);
  add(output_);
  return all;
}

}  // namespace train
