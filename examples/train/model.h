// The language model: the next byte from the vectors of the bytes before it, through two hidden
// layers. NSA compression attention and a mixture of experts become further layers of this shape:
// forward, backward, load, parameters.
#pragma once

#include <vector>

#include "dense_layer.h"
#include "embedding_layer.h"
#include "gelu_layer.h"
#include "softmax_loss.h"

namespace train {

// Positions of the text to learn from or to be judged on.
struct Batch {
  std::vector<int32_t> contexts;  // [rows, kContext], the bytes before each position, oldest first
  std::vector<int32_t> targets;   // [rows], the bytes at the positions
  int64_t rows() const { return static_cast<int64_t>(targets.size()); }
};

class Model {
 public:
  static constexpr int64_t kBytes = 256;  // the vocabulary: every byte value
  static constexpr int64_t kContext = 8;  // bytes seen
  static constexpr int64_t kWidth = 48;   // of a byte's vector
  static constexpr int64_t kHidden = 384;

  Model(Random& random, Operators& operators);

  // Mean loss over the batch, in nats per byte; leaves the gradients in the parameters.
  double forward_backward(const Batch& batch);
  // Summed loss, without gradients.
  double summed_loss(const Batch& batch);
  // Logits [rows, 256] of the byte that follows each context.
  const Matrix& logits(std::span<const int32_t> contexts, int64_t rows);

  // Computes with the trained or the averaged values from now on. Needed after every update.
  void load(Weights which);
  std::vector<Parameter*> parameters();

 private:
  EmbeddingLayer embedding_;
  DenseLayer hidden_;
  GeluLayer hidden_activation_;
  DenseLayer second_;
  GeluLayer second_activation_;
  DenseLayer output_;
  SoftmaxLoss loss_;
};

}  // namespace train
