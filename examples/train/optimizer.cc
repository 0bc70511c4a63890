// AdamW with a moving average of the weights.
#include "optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace train {
namespace {

constexpr double kPeakRate = 4e-3;
constexpr double kFinalShare = 0.2;   // of the peak rate; the average does what a smaller rate would do
constexpr double kWarmupSteps = 100;  // Adam's second moments are unreliable in the first steps
constexpr double kWeightDecay = 0.05;

}  // namespace

Optimizer::Optimizer(std::vector<Parameter*> parameters, int64_t total_steps, const Precision& precision,
                     Operators& operators)
    : parameters_(std::move(parameters)),
      total_steps_(total_steps),
      precision_(precision),
      operators_(operators),
      device_step_({1}, ACL_INT64) {}

EmaAdamAttributes Optimizer::attributes(const Parameter& parameter) const {
  const auto t = static_cast<double>(step_), total = static_cast<double>(total_steps_);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * t / total));
  const double lr =
      parameter.rate * kPeakRate * std::min(t / kWarmupSteps, kFinalShare + (1 - kFinalShare) * cosine);
  // An average that starts at random weights must forget them quickly: the decay grows with the
  // number of averaged steps.
  const double ema_decay = std::min(precision_.ema_decay, (1 + t) / (10 + t));
  return {.lr = lr,
          .ema_decay = ema_decay,
          .beta1 = 0.9,
          .beta2 = precision_.beta2,
          .eps = precision_.eps,
          .mode = 1,
          .bias_correction = true,
          .weight_decay = parameter.decays ? kWeightDecay : 0};
}

void Optimizer::step() {
  ++step_;
  device_step_.upload(std::span<const int64_t>(&step_, 1), operators_.stream());
  for (Parameter* p : parameters_)
    operators_.apply_fused_ema_adam(p->gradient, p->var, p->m, p->v, p->ema, device_step_, attributes(*p));
}

}  // namespace train
