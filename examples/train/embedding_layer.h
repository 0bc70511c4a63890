// Bytes to vectors: aclnnEmbedding forward, aclnnEmbeddingDenseBackward for the gradient of the
// table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix.h"
#include "operators.h"
#include "parameter.h"

namespace train {

class EmbeddingLayer {
 public:
  EmbeddingLayer(const std::string& name, int64_t table_rows, int64_t width, Random& random,
                 Operators& operators);

  // indices [rows, context]; the result [rows, context * width] holds the vectors of one row's
  // bytes side by side.
  const Matrix& forward(std::span<const int32_t> indices, int64_t rows);
  // Gradient of the result of the last forward; leaves the gradient of the table in its parameter.
  void backward(const Matrix& gradient);

  void load(Weights which) { which_ = which; }
  std::vector<Parameter*> parameters() { return {&table_}; }

 private:
  // Device tensors for one number of rows; made anew when it changes (the last block of an
  // evaluation, one row when generating).
  struct Buffers {
    DeviceTensor indices, output, gradient;
    Buffers(int64_t rows, int64_t context, int64_t width, aclDataType dtype);
  };

  Operators& operators_;
  int64_t width_;
  Parameter table_;
  Weights which_ = Weights::kRaw;
  std::optional<Buffers> buffers_;
  Matrix output_;
};

}  // namespace train
