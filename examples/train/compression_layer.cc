// Moves rows and gradients to the device and calls the two compression operators.
#include "compression_layer.h"

namespace train {

CompressionLayer::Buffers::Buffers(int64_t rows, int64_t blocks, int64_t heads, int64_t width,
                                   aclDataType dtype)
    : input({rows, heads, width}, dtype),
      input_gradient({rows, heads, width}, dtype),
      output({blocks, heads, width}, dtype),
      output_gradient({blocks, heads, width}, dtype) {}

// Starts near the mean of the block's rows.
CompressionLayer::CompressionLayer(const std::string& name, Blocks blocks, int64_t heads, Random& random,
                                   Operators& operators)
    : operators_(operators),
      blocks_(blocks),
      heads_(heads),
      weight_(name + ".weight", {blocks.length, heads},
              {1 / static_cast<double>(blocks.length), 0.3 / static_cast<double>(blocks.length)},
              /*decays=*/false, random, operators) {}

const Matrix& CompressionLayer::forward(const Matrix& x, const Sequences& sequences) {
  sequences_ = sequences;
  const int64_t rows = sequences.rows(), blocks = blocks_.within(sequences);
  if (!buffers_ || buffers_->input.dim(0) != rows || buffers_->output.dim(0) != blocks)
    buffers_.emplace(rows, blocks, heads_, x.cols() / heads_, operators_.dtype());
  buffers_->input.upload(elements(x), operators_.stream());
  operators_.nsa_compress(buffers_->input, weight_.value(which_), sequences_, blocks_, buffers_->output);
  output_.resize(blocks, x.cols());
  buffers_->output.download(elements(output_), operators_.stream());
  return output_;
}

const Matrix& CompressionLayer::backward(const Matrix& gradient) {
  buffers_->output_gradient.upload(elements(gradient), operators_.stream());
  operators_.nsa_compress_grad(buffers_->output_gradient, buffers_->input, weight_.value(which_), sequences_,
                               blocks_, buffers_->input_gradient, weight_.gradient);
  input_gradient_.resize(sequences_.rows(), gradient.cols());
  buffers_->input_gradient.download(elements(input_gradient_), operators_.stream());
  return input_gradient_;
}

}  // namespace train
