// Attention that sees the near past row by row and the far past block by block, as NSA's compressed
// branch does: the keys and values of whole blocks are compressed to one each by learned weights.
#pragma once

#include <string>
#include <vector>

#include "compression_layer.h"
#include "dense_layer.h"

namespace train {

struct AttentionShape {
  int64_t heads;
  int64_t head_width;
  int64_t window;  // rows seen uncompressed: the present one and window - 1 before it
  Blocks blocks;
  int64_t far;  // distances of blocks with separate biases; farther ones count as the last
};

class AttentionLayer {
 public:
  AttentionLayer(const std::string& name, int64_t width, const AttentionShape& shape, Random& random,
                 Operators& operators);

  // A row sees rows of its own sequence only, itself and `window - 1` before it, and the compressed
  // blocks that end before it. `x` must stay as it is until the backward pass.
  const Matrix& forward(const Matrix& x, const Sequences& sequences);
  const Matrix& backward(const Matrix& gradient);

  void load(Weights which);
  std::vector<Parameter*> parameters();

 private:
  // One head in one sequence; heads share nothing and run in parallel.
  struct Task {
    int64_t head;
    int64_t begin, rows;               // of the sequence
    int64_t first_block, block_count;  // of its compressed rows
    Matrix weights;                    // [rows, rows + block_count], the softmax
    Matrix bias_gradient;              // [1, window + far]
  };

  void make_tasks(const Sequences& sequences);
  void softmax(Task& task) const;
  // Turns the gradient of the softmax's result into that of its argument.
  void softmax_backward(Task& task, Matrix& gradient) const;
  // Index into the distance biases of a head for row `t` of a sequence.
  int64_t near_bias(int64_t t, int64_t row) const { return t - row; }
  int64_t far_bias(int64_t t, int64_t block) const;

  Operators& operators_;
  AttentionShape shape_;
  DenseLayer query_, key_, value_, output_;
  CompressionLayer key_compression_, value_compression_;
  Parameter distance_bias_;  // [heads, window + far], added to the scores
  Matrix bias_value_;
  std::vector<Task> tasks_;
  const Matrix *queries_ = nullptr, *keys_ = nullptr, *values_ = nullptr;
  const Matrix *block_keys_ = nullptr, *block_values_ = nullptr;
  Matrix mixed_;  // values weighed by the softmax
  Matrix query_gradient_, key_gradient_, value_gradient_, block_key_gradient_, block_value_gradient_;
  Matrix input_gradient_;
};

}  // namespace train
