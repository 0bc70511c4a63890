// Computes the golden of ApplyAdamW on a tensor: tiles of elements, in several threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "base/copies.h"
#include "ops/apply_adam_w/verify/golden_kernel.h"
#include "ops/apply_adam_w/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/tile_results.h"
#include "verify/golden/workers.h"

namespace openaclnn_verify {

using AdamWTensors = std::array<const Array*, kAdamParts>;  // nullptr: the call has no such tensor

class AdamWUpdate {
 public:
  AdamWUpdate(const AdamWSetup& s, const AdamWGiven& x) : s_(s), x_(x) {
    settings_.attributes = {x.beta2, x.eps, s.amsgrad, s.maximize, s.amsgrad && s.version == 1};
    settings_.constants = make_constants<DoubleDouble>();
    plain_ = make_constants<double>();
    settings_.is_usual =
        is_usual_decay(x.beta1) && is_usual_decay(x.beta2) && x.eps >= 0 && (s.version == 1 || x.t >= 1);
    std::ranges::copy(kAdamWBounds, settings_.c);
  }

  // Computes var, m and v, and the maximum if there is a fourth output.
  void compute(const AdamWTensors& tensors, int threads, std::span<GoldenOutput> outputs) const {
    AdamWTileSettings settings = settings_;
    for_each_range(tensors[0]->numel(), kTileElements * 64, threads, [&](int64_t begin, int64_t end) {
      const auto io = std::make_unique<AdamWTileIo>();
      const auto results = std::make_unique<TileResults<kAdamWOutputs>>();
      for (; begin < end; begin += kTileElements)
        compute_tile(settings, tensors, begin, std::min(kTileElements, end - begin), *io, *results, outputs);
    });
  }

 private:
  void compute_tile(const AdamWTileSettings& settings, const AdamWTensors& tensors, int64_t begin,
                    int64_t count, AdamWTileIo& io, TileResults<kAdamWOutputs>& results,
                    std::span<GoldenOutput> outputs) const {
    static const auto kernel = openaclnn::best_copy<AdamWTileKernel>(OPENACLNN_COPIES(compute_adam_w_tile));
    const auto widen = [&](size_t part, ElementTile& to) {
      if (tensors[part] != nullptr)
        tensors[part]->widen(begin, std::span(to.of).first(static_cast<size_t>(count)));
    };
    widen(kAdamGrad, io.before.grad);
    widen(kAdamVar, io.before.var);
    widen(kAdamM, io.before.m);
    widen(kAdamV, io.before.v);
    widen(kAdamMaximum, io.before.maximum);
    results.place(outputs, begin, count, io.results);
    if (!kernel(settings, io)) compute_again_in_double(count, io);
    results.finish(outputs, begin, count);
  }

  // Replaces the results of elements of which one isn't finite.
  void compute_again_in_double(int64_t count, AdamWTileIo& io) const {
    for (int64_t i = 0; i < count; ++i) {
      const auto is_finite = [&](const TileResult& result) { return std::isfinite(result.exact[i]); };
      if (std::ranges::all_of(io.results, is_finite)) continue;
      const AdamWBefore<double> before = {io.before.grad.of[i], io.before.var.of[i], io.before.m.of[i],
                                          io.before.v.of[i], io.before.maximum.of[i]};
      const auto r = adam_w_formula<double>(settings_.attributes, plain_, before);
      for (size_t k = 0; k < kAdamWOutputs; ++k) {
        io.results[k].exact[i] = r.value[k];
        io.results[k].bound[i] = kNotCovered;
      }
    }
  }

  // Returns 1 - beta^t.
  template <class Number>
  Number rest(double beta, double power_before) const {
    const Number one = 1.0;
    if (s_.version == 1) return one - Number(power_before) * Number(beta);
    if (x_.step_is_nan) return std::nan("");
    const uint64_t size = x_.t < 0 ? ~static_cast<uint64_t>(x_.t) + 1 : static_cast<uint64_t>(x_.t);
    const Number power_of_size = power<Number>(beta, size);
    return one - (x_.t < 0 ? one / power_of_size : power_of_size);
  }

  template <class Number>
  AdamWConstants<Number> make_constants() const {
    const Number one = 1.0, decay = Number(x_.lr) * Number(x_.weight_decay);
    return {one - Number(x_.beta1),
            one - Number(x_.beta2),
            Number(x_.lr) / rest<Number>(x_.beta1, x_.power1),
            one / square_root(rest<Number>(x_.beta2, x_.power2)),
            decay,
            one - decay};
  }

  AdamWSetup s_;
  AdamWGiven x_;
  AdamWTileSettings settings_ = {};
  AdamWConstants<double> plain_;
};

}  // namespace openaclnn_verify
