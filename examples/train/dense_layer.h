// y = x W + b: the matrix products of the model, done by OpenBLAS on the host.
#pragma once

#include <string>
#include <vector>

#include "matrix.h"
#include "parameter.h"

namespace train {

class DenseLayer {
 public:
  DenseLayer(const std::string& name, int64_t inputs, int64_t outputs, double weight_deviation,
             Random& random, Operators& operators);

  // `x` must stay as it is until the backward pass.
  const Matrix& forward(const Matrix& x);
  // Returns the gradient of x; leaves those of W and b in their parameters.
  const Matrix& backward(const Matrix& gradient);

  // Fetches the values to compute with from the device.
  void load(Weights which);
  std::vector<Parameter*> parameters() { return {&weight_, &bias_}; }

 private:
  const Stream& stream_;
  Parameter weight_, bias_;
  Matrix weight_value_, weight_gradient_;
  RowVector bias_value_, bias_gradient_;
  const Matrix* input_ = nullptr;
  Matrix output_, input_gradient_;
};

}  // namespace train
