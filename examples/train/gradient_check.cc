// The small instance, its differences and the comparison. 16-bit tensors are compared with differences
// taken at the rounded parameters, so that only the rounding of what flows between the layers is left.
#include "gradient_check.h"

#include <fmt/core.h>

#include <cmath>

#include "errors.h"
#include "model.h"
#include "operators.h"
#include "reference.h"

namespace train {
namespace {

// As small as it can be with every kind of index larger than one: overlapping blocks, distances that
// count as the last, an expert for some rows.
constexpr ModelShape kSmallShape{
    .bytes = 11,
    .context = 3,
    .byte_width = 2,
    .width = 6,
    .attention = {.heads = 2, .head_width = 3, .window = 3, .blocks = {.length = 4, .stride = 3}, .far = 2},
    .experts = 3,
    .expert_width = 5};
// The second sequence is shorter than a block, the third exactly one, the last leaves rows over.
constexpr int64_t kLengths[] = {13, 2, 4, 5, 9};
// Chosen so that no row is near the border between two experts in any precision. The check reports
// it if a change of the model moves one there.
constexpr uint64_t kSeed = 1;
constexpr double kLeastMargin = 0.03;
constexpr double kDifference = 1e-5;  // errors of its square and of 1e-16 over it: about 1e-10

Batch small_batch(Random& random) {
  Batch batch;
  for (const int64_t length : kLengths) batch.sequences.ends.push_back(batch.rows() + length);
  for (int64_t r = 0; r < batch.rows(); ++r) {
    for (int64_t i = 0; i < kSmallShape.context; ++i)
      batch.contexts.push_back(static_cast<int32_t>(random.below(kSmallShape.bytes)));
    batch.targets.push_back(static_cast<int32_t>(random.below(kSmallShape.bytes)));
  }
  return batch;
}

std::vector<float> host_copy(const DeviceTensor& tensor, const Stream& stream) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.download(std::span(values), stream);
  return values;
}

}  // namespace

GradientCheck check_gradients(const Precision& precision, bool with_oracle, const Stream& stream) {
  Operators operators(stream, precision.dtype);
  operators.set_checking(with_oracle);
  Random random(kSeed);
  Model model(kSmallShape, random, operators);
  const Batch batch = small_batch(random);
  ReferenceValues values;
  // Biases too get values that matter, and all parameters an influence on the loss of like size.
  for (Parameter* parameter : model.parameters()) {
    std::vector<float> start(static_cast<size_t>(parameter->var.elements()));
    for (float& value : start) value = static_cast<float>(2 * random.uniform() - 1);
    parameter->var.upload(start, stream);
    const std::vector<float> rounded = host_copy(parameter->var, stream);
    values[parameter->name].assign(rounded.begin(), rounded.end());
  }
  model.load(Weights::kRaw);
  model.forward_backward(batch, precision.loss_scale);
  operators.synchronize();

  const double margin = reference_loss(kSmallShape, batch, values).routing_margin;
  if (margin < kLeastMargin)
    throw RunError(fmt::format("gradient check: a row is within {:.2g} of changing its expert", margin));
  GradientCheck check;
  for (Parameter* parameter : model.parameters()) {
    const std::vector<float> gradient = host_copy(parameter->gradient, stream);
    std::vector<double>& value = values.at(parameter->name);
    std::vector<double> expected(value.size());
    double norm = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      const double here = value[i];
      value[i] = here + kDifference;
      const double above = reference_loss(kSmallShape, batch, values).loss;
      value[i] = here - kDifference;
      expected[i] = (above - reference_loss(kSmallShape, batch, values).loss) / (2 * kDifference);
      value[i] = here;
      norm = std::hypot(norm, expected[i]);
    }
    for (size_t i = 0; i < value.size(); ++i) {
      const double found = gradient[i] / precision.loss_scale, error = std::abs(found - expected[i]);
      if (!(error <= precision.gradient_tolerance * norm))
        throw RunError(
            fmt::format("gradient check: the gradient of {}[{}] is {:.6g}, central differences give {:.6g}; "
                        "they may differ by {:.2g}",
                        parameter->name, i, found, expected[i], precision.gradient_tolerance * norm));
      check.worst = std::max(check.worst, error / norm);
    }
    check.gradients += static_cast<int64_t>(value.size());
  }
  return check;
}

}  // namespace train
