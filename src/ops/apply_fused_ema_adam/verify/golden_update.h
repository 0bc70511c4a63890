// Computes the golden of ApplyFusedEmaAdam on a tensor: tiles of elements, in several threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "base/copies.h"
#include "ops/apply_fused_ema_adam/verify/golden_kernel.h"
#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/tile_results.h"
#include "verify/golden/workers.h"
#include "verify/number.h"

namespace openaclnn_verify {

inline EmaAttributes checked_ema_attributes(const RecordedCall& call) {
  for (const char* const name : {"lr", "emaDecay", "beta1", "beta2", "eps", "weightDecay"})
    real_of(call, name);
  const int64_t mode = integer_of(call, "mode");
  if (mode != 0 && mode != 1) reject("mode is " + std::to_string(mode) + "; it must be 0 or 1");
  integer_of(call, "biasCorrection");
  return recorded_ema_attributes(call);
}

// Returns 1 / (1 - beta^t).
template <class Number>
Number bias_correction(double beta, int64_t t) {
  const Number one = 1.0;
  const uint64_t size = t < 0 ? ~static_cast<uint64_t>(t) + 1 : static_cast<uint64_t>(t);
  const Number power_of_size = power<Number>(beta, size);
  return one / (one - (t < 0 ? one / power_of_size : power_of_size));
}

using EmaTensors = std::array<const Array*, kStep>;  // grad, var, m, v, s

// The division of the gradient before the formula.
struct EmaScale {
  bool is_given = false;
  double divisor = 1;

  // Whether float division is exact, as long as the quotient is a normal number.
  bool is_exact() const {
    int exponent;
    return !is_given || std::fabs(std::frexp(divisor, &exponent)) == 0.5;
  }
};

class EmaUpdate {
 public:
  EmaUpdate(const EmaAttributes& a, int64_t t, const EmaScale& scale = {}) {
    settings_.given = {a.lr, a.ema_decay, a.beta1, a.beta2, a.eps, a.weight_decay};
    settings_.constants = {one_minus(a.beta1), one_minus(a.beta2), one_minus(a.ema_decay), 1.0, 1.0};
    plain_ = {1 - a.beta1, 1 - a.beta2, 1 - a.ema_decay, 1.0, 1.0};
    if (a.bias_correction) {
      settings_.constants.r1 = bias_correction<DoubleDouble>(a.beta1, t);
      settings_.constants.r2 = bias_correction<DoubleDouble>(a.beta2, t);
      plain_.r1 = bias_correction<double>(a.beta1, t);
      plain_.r2 = bias_correction<double>(a.beta2, t);
    }
    settings_.joins_gradient = a.mode == 0;
    settings_.is_usual =
        is_usual_decay(a.beta1) && is_usual_decay(a.beta2) && a.eps >= 0 && (t >= 1 || !a.bias_correction);
    settings_.divides = scale.is_given;
    settings_.divisor = scale.divisor;
    const auto bounds = [&](double kappa) -> std::array<double, kEmaOutputs> {
      const EmaBounds b =
          scale.is_exact() ? ema_adam_bounds(a.mode, kappa) : ema_adam_bounds_of_quotient(a.mode, kappa);
      return {b.var, b.m, b.v, b.s};
    };
    for (size_t k = 0; k < kEmaOutputs; ++k) {
      settings_.at_zero[k] = bounds(0)[k];
      settings_.per_kappa[k] = bounds(1)[k] - bounds(0)[k];
    }
  }

  // Computes var, m, v and s to four outputs.
  void compute(const EmaTensors& tensors, int threads, std::span<GoldenOutput> outputs) const {
    EmaTileSettings settings = settings_;
    for_each_range(tensors[0]->numel(), kTileElements * 64, threads, [&](int64_t begin, int64_t end) {
      const auto io = std::make_unique<EmaTileIo>();
      const auto results = std::make_unique<TileResults<kEmaOutputs>>();
      for (; begin < end; begin += kTileElements)
        compute_tile(settings, tensors, begin, std::min(kTileElements, end - begin), *io, *results, outputs);
    });
  }

 private:
  void compute_tile(const EmaTileSettings& settings, const EmaTensors& tensors, int64_t begin, int64_t count,
                    EmaTileIo& io, TileResults<kEmaOutputs>& results, std::span<GoldenOutput> outputs) const {
    static const auto kernel = openaclnn::best_copy<EmaTileKernel>(OPENACLNN_COPIES(compute_ema_tile));
    for (size_t k = 0; k < kStep; ++k)
      tensors[k]->widen(begin, std::span(io.before[k].of).first(static_cast<size_t>(count)));
    results.place(outputs, begin, count, io.results);
    if (!kernel(settings, io)) compute_again_in_double(count, io);
    results.finish(outputs, begin, count);
  }

  // Replaces the results of elements of which one isn't finite.
  void compute_again_in_double(int64_t count, EmaTileIo& io) const {
    for (int64_t i = 0; i < count; ++i) {
      const auto is_finite = [&](const TileResult& result) { return std::isfinite(result.exact[i]); };
      if (std::ranges::all_of(io.results, is_finite)) continue;
      const EmaBefore<double> before = {io.before[kTileGrad].of[i] / settings_.divisor,
                                        io.before[kTileVar].of[i], io.before[kTileM].of[i],
                                        io.before[kTileV].of[i], io.before[kTileS].of[i]};
      const auto r = settings_.joins_gradient ? ema_formula<true>(settings_.given, plain_, before)
                                              : ema_formula<false>(settings_.given, plain_, before);
      for (size_t k = 0; k < kEmaOutputs; ++k) {
        io.results[k].exact[i] = r.value[k];
        io.results[k].bound[i] = kNotCovered;
      }
    }
  }

  EmaTileSettings settings_ = {};
  EmaConstants<double> plain_;
};

}  // namespace openaclnn_verify
