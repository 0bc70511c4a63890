// The model's nonlinearity, in the tanh form: gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715
// x^3))).
#pragma once

#include "matrix.h"

namespace train {

class GeluLayer {
 public:
  const Matrix& forward(const Matrix& x);
  const Matrix& backward(const Matrix& gradient);

 private:
  Matrix output_, slope_, input_gradient_;
};

}  // namespace train
