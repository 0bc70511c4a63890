// The language model: every row of a batch predicts its next byte from the vectors of its last bytes,
// attention to the sequence before it, and one of a few experts.
#pragma once

#include <vector>

#include "attention_layer.h"
#include "dense_layer.h"
#include "embedding_layer.h"
#include "gelu_layer.h"
#include "mixture_layer.h"
#include "softmax_loss.h"

namespace train {

// Sequences of positions of the text, to learn from or to be judged on.
struct Batch {
  Sequences sequences;
  std::vector<int32_t> contexts;  // [rows, context], the bytes before each position, oldest first
  std::vector<int32_t> targets;   // [rows], the bytes at the positions
  int64_t rows() const { return sequences.rows(); }
};

struct ModelShape {
  int64_t bytes;    // the vocabulary
  int64_t context;  // bytes whose vectors a row holds side by side
  int64_t byte_width;
  int64_t width;  // of a row after the first layer
  AttentionShape attention;
  int64_t experts;
  int64_t expert_width;
};

class Model {
 public:
  Model(const ModelShape& shape, Random& random, Operators& operators);

  // Mean loss over the batch, in nats per byte; leaves the gradients, times `loss_scale`, in the
  // parameters.
  double forward_backward(const Batch& batch, double loss_scale);
  // Summed loss, without gradients.
  double summed_loss(const Batch& batch);
  // Logits [rows, bytes] of the byte that follows each context.
  const Matrix& logits(std::span<const int32_t> contexts, const Sequences& sequences);

  // Computes with the trained or the averaged values from now on. Needed after every update.
  void load(Weights which);
  std::vector<Parameter*> parameters();

 private:
  EmbeddingLayer embedding_;
  DenseLayer hidden_;
  GeluLayer hidden_activation_;
  AttentionLayer attention_;
  MixtureLayer mixture_;
  DenseLayer output_;
  SoftmaxLoss loss_;
  Matrix after_attention_, after_mixture_, gradient_;
};

}  // namespace train
