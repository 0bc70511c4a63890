// Moves indices and gradients to the device and calls the two embedding operators.
#include "embedding_layer.h"

namespace train {

EmbeddingLayer::Buffers::Buffers(int64_t rows, int64_t context, int64_t width, aclDataType dtype)
    : indices({rows, context}, ACL_INT32),
      output({rows, context, width}, dtype),
      gradient({rows, context, width}, dtype) {}

EmbeddingLayer::EmbeddingLayer(const std::string& name, int64_t table_rows, int64_t width, Random& random,
                               Operators& operators)
    : operators_(operators),
      width_(width),
      table_(name + ".table", {table_rows, width}, {0, 0.5}, /*decays=*/false, random, operators) {}

const Matrix& EmbeddingLayer::forward(std::span<const int32_t> indices, int64_t rows) {
  const int64_t context = static_cast<int64_t>(indices.size()) / rows;
  if (!buffers_ || buffers_->indices.dim(0) != rows)
    buffers_.emplace(rows, context, width_, operators_.dtype());
  buffers_->indices.upload(indices, operators_.stream());
  operators_.embedding(table_.value(which_), buffers_->indices, buffers_->output);
  output_.resize(rows, context * width_);
  buffers_->output.download(elements(output_), operators_.stream());
  return output_;
}

void EmbeddingLayer::backward(const Matrix& gradient) {
  buffers_->gradient.upload(elements(gradient), operators_.stream());
  operators_.embedding_dense_backward(buffers_->gradient, buffers_->indices, table_.gradient);
}

}  // namespace train
