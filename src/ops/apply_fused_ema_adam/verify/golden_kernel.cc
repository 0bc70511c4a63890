// The golden of ApplyFusedEmaAdam on as many elements at a time as a vector holds.
#include "ops/apply_fused_ema_adam/verify/golden_kernel.h"

#include "verify/golden/lanes.h"

namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE {

namespace {

using Wide = WideDoubleDouble;

template <bool joins_gradient>
HWY_INLINE bool compute(const EmaTileSettings& settings, EmaTileIo& io) {
  const EmaConstants<DoubleDouble>& k = settings.constants;
  const EmaConstants<Wide> constants = {widened(k.one_minus_beta1), widened(k.one_minus_beta2),
                                        widened(k.one_minus_ema), widened(k.r1), widened(k.r2)};
  const Lanes zero = 0.0, infinity = std::numeric_limits<double>::infinity();
  LaneMask is_finite = lanes_of(true);
  const LaneMask is_usual = lanes_of(settings.is_usual);
  for (int64_t i = 0; i < kTileElements; i += Lanes::kCount) {
    const auto load = [&](EmaTilePart part) HWY_ATTR { return Lanes::load(io.before[part].of + i); };
    Wide grad = load(kTileGrad);
    LaneMask is_covered = is_usual;
    if (settings.divides) {
      grad = grad / Wide(Lanes(settings.divisor));
      // A quotient below the normal floats loses more than one rounding.
      const Lanes size = fabs(grad.high);
      is_covered = is_covered & ((size == zero) | ((size >= Lanes(0x1p-126)) & (size <= Lanes(0x1p127))));
    }
    const EmaResults<Wide> r = ema_formula<joins_gradient, Wide>(
        settings.given, constants, {grad, load(kTileVar), load(kTileM), load(kTileV), load(kTileS)});
    is_covered = is_covered & r.is_covered;
    for (int out = 0; out < kEmaOutputs; ++out) {
      const Lanes exact = r.value[out].high;
      const Lanes c = Lanes(settings.at_zero[out]) + Lanes(settings.per_kappa[out]) * r.kappa;
      is_finite = is_finite & (fabs(exact) < infinity);
      exact.store(io.results[out].exact + i);
      covered_bound(is_covered, exact, c, r.magnitude[out]).store(io.results[out].bound + i);
    }
  }
  return all(is_finite);
}

}  // namespace

bool compute_ema_tile(const EmaTileSettings& settings, EmaTileIo& io) {
  return settings.joins_gradient ? compute<true>(settings, io) : compute<false>(settings, io);
}

}  // namespace openaclnn_verify::OPENACLNN_ISA_NAMESPACE
