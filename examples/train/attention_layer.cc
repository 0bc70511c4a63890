// Scores, softmax and weighted sums as small dense matrix products per head and sequence. Masked
// elements are also computed, which for sequences of some hundred rows is cheaper than avoiding
// them.
#include "attention_layer.h"

#include <cmath>

namespace train {

AttentionLayer::AttentionLayer(const std::string& name, int64_t width, const AttentionShape& shape,
                               Random& random, Operators& operators)
    : operators_(operators),
      shape_(shape),
      query_(name + ".query", width, shape.heads * shape.head_width, keeps_variance(width), random,
             operators),
      key_(name + ".key", width, shape.heads * shape.head_width, keeps_variance(width), random, operators),
      value_(name + ".value", width, shape.heads * shape.head_width, keeps_variance(width), random,
             operators),
      output_(name + ".output", shape.heads * shape.head_width, width,
              0.1 * keeps_variance(shape.heads * shape.head_width), random, operators),
      key_compression_(name + ".key_compression", shape.blocks, shape.heads, random, operators),
      value_compression_(name + ".value_compression", shape.blocks, shape.heads, random, operators),
      distance_bias_(name + ".distance_bias", {shape.heads, shape.window + shape.far}, {}, /*decays=*/false,
                     random, operators),
      bias_value_(shape.heads, shape.window + shape.far) {
  load(Weights::kRaw);
}

int64_t AttentionLayer::far_bias(int64_t t, int64_t block) const {
  const int64_t distance = shape_.blocks.within(t) - 1 - block;  // 0: the newest block that t sees
  return shape_.window + std::min(distance, shape_.far - 1);
}

void AttentionLayer::make_tasks(const Sequences& sequences) {
  tasks_.resize(sequences.count() * static_cast<size_t>(shape_.heads));
  int64_t first_block = 0;
  for (size_t i = 0; i < sequences.count(); ++i) {
    const int64_t block_count = shape_.blocks.within(sequences.length(i));
    for (int64_t head = 0; head < shape_.heads; ++head) {
      Task& task = tasks_[i * static_cast<size_t>(shape_.heads) + static_cast<size_t>(head)];
      task.head = head;
      task.begin = sequences.begin(i);
      task.rows = sequences.length(i);
      task.first_block = first_block;
      task.block_count = block_count;
    }
    first_block += block_count;
  }
}

void AttentionLayer::softmax(Task& task) const {
  const auto bias = bias_value_.row(task.head);
  const float scale = 1 / std::sqrt(static_cast<float>(shape_.head_width));
  for (int64_t t = 0; t < task.rows; ++t) {
    const int64_t first = std::max<int64_t>(t - shape_.window + 1, 0), blocks = shape_.blocks.within(t);
    auto row = task.weights.row(t).array();
    row *= scale;
    for (int64_t s = first; s <= t; ++s) row[s] += bias[near_bias(t, s)];
    for (int64_t k = 0; k < blocks; ++k) row[task.rows + k] += bias[far_bias(t, k)];
    auto near = row.segment(first, t + 1 - first);
    auto far = row.segment(task.rows, blocks);
    const float largest = blocks ? std::max(near.maxCoeff(), far.maxCoeff()) : near.maxCoeff();
    near = (near - largest).exp();
    far = (far - largest).exp();
    const float sum = near.sum() + far.sum();
    near /= sum;
    far /= sum;
    // Zeros, not small numbers, in masked places.
    row.head(first).setZero();
    row.segment(t + 1, task.rows - t - 1).setZero();
    row.tail(task.block_count - blocks).setZero();
  }
}

void AttentionLayer::softmax_backward(Task& task, Matrix& gradient) const {
  const float scale = 1 / std::sqrt(static_cast<float>(shape_.head_width));
  task.bias_gradient.setZero(1, shape_.window + shape_.far);
  for (int64_t t = 0; t < task.rows; ++t) {
    const auto weights = task.weights.row(t).array();
    auto row = gradient.row(t).array();
    row = weights * (row - (weights * row).sum());
    for (int64_t s = std::max<int64_t>(t - shape_.window + 1, 0); s <= t; ++s)
      task.bias_gradient(0, near_bias(t, s)) += row[s];
    for (int64_t k = 0; k < shape_.blocks.within(t); ++k)
      task.bias_gradient(0, far_bias(t, k)) += row[task.rows + k];
    row *= scale;
  }
}

const Matrix& AttentionLayer::forward(const Matrix& x, const Sequences& sequences) {
  queries_ = &query_.forward(x);
  keys_ = &key_.forward(x);
  values_ = &value_.forward(x);
  block_keys_ = &key_compression_.forward(*keys_, sequences);
  block_values_ = &value_compression_.forward(*values_, sequences);
  make_tasks(sequences);
  mixed_.resize(x.rows(), shape_.heads * shape_.head_width);
  tbb::parallel_for(size_t{0}, tasks_.size(), [&](size_t i) {
    Task& task = tasks_[i];
    const auto of_rows = [&](auto& matrix) {
      return matrix.block(task.begin, task.head * shape_.head_width, task.rows, shape_.head_width);
    };
    const auto of_blocks = [&](auto& matrix) {
      return matrix.block(task.first_block, task.head * shape_.head_width, task.block_count,
                          shape_.head_width);
    };
    task.weights.resize(task.rows, task.rows + task.block_count);
    task.weights.leftCols(task.rows).noalias() = of_rows(*queries_) * of_rows(*keys_).transpose();
    task.weights.rightCols(task.block_count).noalias() =
        of_rows(*queries_) * of_blocks(*block_keys_).transpose();
    softmax(task);
    auto mixed = of_rows(mixed_);
    mixed.noalias() = task.weights.leftCols(task.rows) * of_rows(*values_);
    mixed.noalias() += task.weights.rightCols(task.block_count) * of_blocks(*block_values_);
  });
  return output_.forward(mixed_);
}

const Matrix& AttentionLayer::backward(const Matrix& gradient) {
  const Matrix& mixed_gradient = output_.backward(gradient);
  for (Matrix* of_rows : {&query_gradient_, &key_gradient_, &value_gradient_})
    of_rows->resize(mixed_.rows(), mixed_.cols());
  for (Matrix* of_blocks : {&block_key_gradient_, &block_value_gradient_})
    of_blocks->resize(block_keys_->rows(), mixed_.cols());
  tbb::parallel_for(size_t{0}, tasks_.size(), [&](size_t i) {
    Task& task = tasks_[i];
    const auto of_rows = [&](auto& matrix) {
      return matrix.block(task.begin, task.head * shape_.head_width, task.rows, shape_.head_width);
    };
    const auto of_blocks = [&](auto& matrix) {
      return matrix.block(task.first_block, task.head * shape_.head_width, task.block_count,
                          shape_.head_width);
    };
    const auto near = task.weights.leftCols(task.rows), far = task.weights.rightCols(task.block_count);
    of_rows(value_gradient_).noalias() = near.transpose() * of_rows(mixed_gradient);
    of_blocks(block_value_gradient_).noalias() = far.transpose() * of_rows(mixed_gradient);
    Matrix scores(task.rows, task.rows + task.block_count);  // their gradient
    scores.leftCols(task.rows).noalias() = of_rows(mixed_gradient) * of_rows(*values_).transpose();
    scores.rightCols(task.block_count).noalias() =
        of_rows(mixed_gradient) * of_blocks(*block_values_).transpose();
    softmax_backward(task, scores);
    const auto near_scores = scores.leftCols(task.rows), far_scores = scores.rightCols(task.block_count);
    auto queries = of_rows(query_gradient_);
    queries.noalias() = near_scores * of_rows(*keys_);
    queries.noalias() += far_scores * of_blocks(*block_keys_);
    of_rows(key_gradient_).noalias() = near_scores.transpose() * of_rows(*queries_);
    of_blocks(block_key_gradient_).noalias() = far_scores.transpose() * of_rows(*queries_);
  });
  Matrix bias_gradient = Matrix::Zero(bias_value_.rows(), bias_value_.cols());
  for (const Task& task : tasks_) bias_gradient.row(task.head) += task.bias_gradient;
  distance_bias_.gradient.upload(elements(bias_gradient), operators_.stream());

  // Keys and values are used twice: as they are, and compressed.
  key_gradient_ += key_compression_.backward(block_key_gradient_);
  value_gradient_ += value_compression_.backward(block_value_gradient_);
  input_gradient_ = query_.backward(query_gradient_);
  input_gradient_ += key_.backward(key_gradient_);
  input_gradient_ += value_.backward(value_gradient_);
  return input_gradient_;
}

void AttentionLayer::load(Weights which) {
  for (DenseLayer* layer : {&query_, &key_, &value_, &output_}) layer->load(which);
  for (CompressionLayer* layer : {&key_compression_, &value_compression_}) layer->load(which);
  distance_bias_.value(which).download(elements(bias_value_), operators_.stream());
}

std::vector<Parameter*> AttentionLayer::parameters() {
  std::vector<Parameter*> all{&distance_bias_};
  const auto add = [&](auto& layer) {
    for (Parameter* parameter : layer.parameters()) all.push_back(parameter);
  };
  for (DenseLayer* layer : {&query_, &key_, &value_, &output_}) add(*layer);
  for (CompressionLayer* layer : {&key_compression_, &value_compression_}) add(*layer);
  return all;
}

}  // namespace train
