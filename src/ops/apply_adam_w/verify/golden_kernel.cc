// The golden of ApplyAdamW on as many elements at a time as a vector holds.
#include "ops/apply_adam_w/verify/golden_kernel.h"

#include "verify/golden/lanes.h"

namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE {

bool compute_adam_w_tile(const AdamWTileSettings& settings, AdamWTileIo& io) {
  const AdamWConstants<DoubleDouble>& k = settings.constants;
  const AdamWConstants<WideDoubleDouble> constants = {
      widened(k.one_minus_beta1), widened(k.one_minus_beta2), widened(k.size),
      widened(k.scale),           widened(k.decay),           widened(k.undecayed)};
  const LaneMask is_usual = lanes_of(settings.is_usual);
  LaneMask is_finite = lanes_of(true);
  for (int64_t i = 0; i < kTileElements; i += Lanes::kCount) {
    const AdamWBefore<ElementTile>& from = io.before;
    const AdamWBefore<Lanes> before = {Lanes::load(from.grad.of + i), Lanes::load(from.var.of + i),
                                       Lanes::load(from.m.of + i), Lanes::load(from.v.of + i),
                                       Lanes::load(from.maximum.of + i)};
    const auto r = adam_w_formula<WideDoubleDouble, Lanes>(settings.attributes, constants, before);
    for (int out = 0; out < kAdamWOutputs; ++out) {
      const Lanes exact = r.value[out].high, c = settings.c[out];
      is_finite = is_finite & (fabs(exact) < Lanes(std::numeric_limits<double>::infinity()));
      exact.store(io.results[out].exact + i);
      covered_bound(r.is_covered & is_usual, exact, c, r.magnitude[out]).store(io.results[out].bound + i);
    }
  }
  return all(is_finite);
}

}  // namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE
