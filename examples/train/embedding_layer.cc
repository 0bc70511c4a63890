// Moves indices and gradients to the device and calls the two embedding operators.
#include "embedding_layer.h"

namespace train {

EmbeddingLayer::Buffers::Buffers(int64_t rows, int64_t context, int64_t width)
    : indices({rows, context}, ACL_INT32),
      output({rows, context, width}, ACL_FLOAT),
      gradient({rows, context, width}, ACL_FLOAT) {}

EmbeddingLayer::EmbeddingLayer(int64_t table_rows, int64_t width, Random& random, Operators& operators)
    : operators_(operators),
      width_(width),
      table_({table_rows, width}, 0.5, /*weight_decay=*/false, random, operators.stream()) {}

const Matrix& EmbeddingLayer::forward(std::span<const int32_t> indices, int64_t rows) {
  const int64_t context = static_cast<int64_t>(indices.size()) / rows;
  if (!buffers_ || buffers_->indices.dim(0) != rows) buffers_.emplace(rows, context, width_);
  buffers_->indices.upload(indices, operators_.stream());
  operators_.embedding(table_.value(which_), buffers_->indices, buffers_->output);
  output_.resize(rows, context * width_);
  buffers_->output.download(std::span(output_.data(), output_.size()), operators_.stream());
  return output_;
}

void EmbeddingLayer::backward(const Matrix& gradient) {
  buffers_->gradient.upload(std::span<const float>(gradient.data(), gradient.size()), operators_.stream());
  operators_.embedding_dense_backward(buffers_->gradient, buffers_->indices, table_.gradient);
}

}  // namespace train
