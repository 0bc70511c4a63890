// Initial values of a parameter.
#include "parameter.h"

#include <cmath>
#include <utility>

namespace train {

double keeps_variance(int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

Parameter::Parameter(std::string parameter_name, std::vector<int64_t> dims, Start start, bool weight_decay,
                     Random& random, Operators& operators)
    : name(std::move(parameter_name)),
      var(dims, operators.dtype()),
      m(dims, operators.dtype()),
      v(dims, operators.dtype()),
      ema(dims, operators.dtype()),
      gradient(dims, operators.dtype()),
      decays(weight_decay) {
  std::vector<float> values(static_cast<size_t>(var.elements()));
  const double half_width = std::sqrt(3.0) * start.standard_deviation;
  for (float& value : values)
    value = static_cast<float>(start.mean + half_width * (2 * random.uniform() - 1));
  var.upload(values, operators.stream());
  ema.upload(values, operators.stream());
  m.fill_zero(operators.stream());
  v.fill_zero(operators.stream());
}

}  // namespace train
