// AdamW with a moving average of the weights.
#include "optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

namespace train {
namespace {
double env(const char* n, double d) { const char* s = getenv(n); return s ? atof(s) : d; }
}

Optimizer::Optimizer(std::vector<Parameter*> parameters, int64_t total_steps, Operators& operators)
    : parameters_(std::move(parameters)), total_steps_(total_steps), operators_(operators), device_step_({1}, ACL_INT64) {}

EmaAdamAttributes Optimizer::attributes() const {
  static const double kPeak = env("LR", 2e-3), kFloor = env("FLOOR", 0.05), kEma = env("EMA", 0.998), wd = env("WD", 0.05), b2 = env("B2", 0.99);
  constexpr double kWarmupSteps = 100;
  const auto t = static_cast<double>(step_), total = static_cast<double>(total_steps_);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * t / total));
  const double lr = kPeak * std::min(t / kWarmupSteps, kFloor + (1 - kFloor) * cosine);
  // An average that starts at random weights must forget them quickly: the decay grows with the number of averaged steps.
  const double ema_decay = std::min(kEma, (1 + t) / (10 + t));
  return {.lr = lr, .ema_decay = ema_decay, .beta1 = 0.9, .beta2 = b2, .eps = 1e-8, .mode = 1, .bias_correction = true, .weight_decay = wd};
}

void Optimizer::step() {
  ++step_;
  device_step_.upload(std::span<const int64_t>(&step_, 1), operators_.stream());
  for (Parameter* p : parameters_) {
    EmaAdamAttributes a = attributes();
    if (!p->decays) a.weight_decay = 0;
    operators_.apply_fused_ema_adam(p->gradient, p->var, p->m, p->v, p->ema, device_step_, a);
  }
}

}  // namespace train
