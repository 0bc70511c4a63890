// Compresses blocks of rows to one row each, with learned weights: aclnnNsaCompress forward,
// aclnnNsaCompressGrad for the gradients of the rows and of the weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix.h"
#include "operators.h"
#include "parameter.h"
#include "sequences.h"

namespace train {

class CompressionLayer {
 public:
  // Every one of the `heads` heads has its own weights for the rows of a block.
  CompressionLayer(const std::string& name, Blocks blocks, int64_t heads, Random& random,
                   Operators& operators);

  // x [rows, heads * width] to [blocks.within(sequences), heads * width].
  const Matrix& forward(const Matrix& x, const Sequences& sequences);
  // Returns the gradient of x; leaves that of the weights in their parameter.
  const Matrix& backward(const Matrix& gradient);

  void load(Weights which) { which_ = which; }
  std::vector<Parameter*> parameters() { return {&weight_}; }

 private:
  // Device tensors for one number of rows and blocks; created again if one of them changes.
  struct Buffers {
    DeviceTensor input, input_gradient, output, output_gradient;
    Buffers(int64_t rows, int64_t blocks, int64_t heads, int64_t width, aclDataType dtype);
  };

  Operators& operators_;
  Blocks blocks_;
  int64_t heads_;
  Parameter weight_;
  Weights which_ = Weights::kRaw;
  Sequences sequences_;
  std::optional<Buffers> buffers_;
  Matrix output_, input_gradient_;
};

}  // namespace train
