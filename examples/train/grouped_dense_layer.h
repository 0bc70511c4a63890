// One dense layer per expert: rows sorted by expert, each group multiplied by its own matrix. The
// gradient of the biases is aclnnGroupedBiasAddGrad's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix.h"
#include "operators.h"
#include "parameter.h"

namespace train {

class GroupedDenseLayer {
 public:
  GroupedDenseLayer(const std::string& name, int64_t groups, int64_t inputs, int64_t outputs,
                    double weight_deviation, Random& random, Operators& operators);

  // Group g has the rows from ends[g - 1] (0 for the first) to ends[g]. `x` must stay as it is until
  // the backward pass.
  const Matrix& forward(const Matrix& x, std::span<const int64_t> ends);
  // Returns the gradient of x; leaves those of weights and biases in their parameters.
  const Matrix& backward(const Matrix& gradient);

  void load(Weights which);
  std::vector<Parameter*> parameters() { return {&weight_, &bias_}; }

 private:
  // A part of one group's rows, small enough to spread over the cores.
  struct RowBlock {
    int64_t group, first, rows;
  };

  // The matrix of one group, [inputs, outputs].
  auto group_weight(int64_t group) const { return weight_value_.middleRows(group * inputs_, inputs_); }
  int64_t begin(int64_t group) const { return group == 0 ? 0 : ends_[static_cast<size_t>(group - 1)]; }
  int64_t rows(int64_t group) const { return ends_[static_cast<size_t>(group)] - begin(group); }

  Operators& operators_;
  int64_t inputs_;
  Parameter weight_, bias_;                // [groups, inputs, outputs] and [groups, outputs]
  Matrix weight_value_, weight_gradient_;  // [groups * inputs, outputs]
  Matrix bias_value_;
  std::vector<int64_t> ends_;
  std::vector<RowBlock> blocks_;
  DeviceTensor device_ends_;
  std::optional<DeviceTensor> device_gradient_;  // made anew when the number of rows changes
  const Matrix* input_ = nullptr;
  Matrix output_, input_gradient_;
};

}  // namespace train
