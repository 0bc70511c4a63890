// The numbers of one step of the optimizer.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "scalars.h"

namespace openaclnn::python {

namespace nb = nanobind;

struct AdamAttributes {
  double lr, ema_decay, beta1, beta2, eps;
  int64_t mode;
  bool bias_correction;
  double weight_decay;

  bool operator==(const AdamAttributes&) const = default;
};

// Rejects a number of another type by its name.
inline AdamAttributes to_adam_attributes(nb::handle lr, nb::handle ema_decay, nb::handle beta1,
                                         nb::handle beta2, nb::handle eps, nb::handle mode,
                                         nb::handle bias_correction, nb::handle weight_decay) {
  return {to_real(lr, "lr"),
          to_real(ema_decay, "ema_decay"),
          to_real(beta1, "beta1"),
          to_real(beta2, "beta2"),
          to_real(eps, "eps"),
          to_integer(mode, "mode"),
          to_flag(bias_correction, "bias_correction"),
          to_real(weight_decay, "weight_decay")};
}

}  // namespace openaclnn::python
