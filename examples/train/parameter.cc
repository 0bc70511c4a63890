// Initial values of a parameter.
#include "parameter.h"

#include <cmath>

namespace train {

Parameter::Parameter(std::vector<int64_t> dims, double standard_deviation, bool weight_decay, Random& random,
                     const Stream& stream)
    : var(dims, ACL_FLOAT),
      m(dims, ACL_FLOAT),
      v(dims, ACL_FLOAT),
      ema(dims, ACL_FLOAT),
      gradient(dims, ACL_FLOAT),
      decays(weight_decay) {
  std::vector<float> values(static_cast<size_t>(var.elements()));
  const double half_width = std::sqrt(3.0) * standard_deviation;
  for (float& value : values) value = static_cast<float>(half_width * (2 * random.uniform() - 1));
  var.upload(std::span<const float>(values), stream);
  ema.upload(std::span<const float>(values), stream);
  m.fill_zero(stream);
  v.fill_zero(stream);
}

}  // namespace train
