// The formula of ApplyAdamW over a number type: in 106 bits, and in double where a result isn't finite.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/apply_adam_w/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/elements.h"

namespace openaclnn_verify {

template <class Number>
struct AdamWConstants {
  Number one_minus_beta1, one_minus_beta2;
  Number size, scale;  // lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  Number decay;        // lr * weightDecay
};

template <class Number>
struct AdamWResults {
  std::array<Number, kAdamGrad> value;
  std::array<double, kAdamGrad> magnitude;  // S of the bounds
  bool is_covered;
};

class AdamWFormula {
 public:
  AdamWFormula(const AdamWSetup& s, const AdamWGiven& x) : s_(s), x_(x) {
    precise_ = make_constants<DoubleDouble>();
    plain_ = make_constants<double>();
    is_usual_ =
        is_usual_decay(x.beta1) && is_usual_decay(x.beta2) && x.eps >= 0 && (s.version == 1 || x.t >= 1);
  }

  const AdamWSetup& setup() const { return s_; }
  bool is_usual() const { return is_usual_; }  // the error bounds hold for such numbers

  // The arithmetic is in the order of the oracle.
  template <class Number>
  [[gnu::always_inline]] AdamWResults<Number> operator()(double var_before, double m_before, double v_before,
                                                         double maximum, double grad) const {
    const AdamWConstants<Number>& k = constants<Number>();
    Magnitudes seen;
    const double g = s_.maximize ? -grad : grad;
    const Number m = Number(m_before) + seen.keep(k.one_minus_beta1 * (Number(g) - Number(m_before)));
    const double m_size =
        std::fabs(m_before) + std::fabs(rounded(k.one_minus_beta1)) * (std::fabs(g) + std::fabs(m_before));

    const Number v_old = seen.keep(Number(x_.beta2) * Number(v_before));
    const Number v = v_old + seen.keep(k.one_minus_beta2 * seen.keep(Number(g) * Number(g)));
    const bool is_larger = rounded(Number(maximum) - v) > 0;
    // NaN if either is NaN.
    const Number n = s_.amsgrad && (is_larger || std::isnan(maximum)) ? Number(maximum) : v;

    const Number size = seen.keep(k.size), scale = seen.keep(k.scale);
    const Number denominator = seen.keep(seen.keep(square_root(n)) * scale) + Number(x_.eps);
    const Number step = seen.keep(seen.keep(size * m) / denominator);
    const Number var = seen.keep((Number(1.0) - k.decay) * Number(var_before)) - step;
    const double var_size = std::fabs(var_before) * (1 + std::fabs(rounded(k.decay))) +
                            std::fabs(rounded(size)) * m_size / rounded(denominator);

    AdamWResults<Number> out = {{var, m, s_.amsgrad && s_.version == 1 ? n : v, n},
                                {var_size, m_size, rounded(v), rounded(v)},
                                false};
    out.is_covered = seen.in_range() & (rounded(denominator) > 0) & (v_before >= 0);
    return out;
  }

 private:
  template <class Number>
  const AdamWConstants<Number>& constants() const {
    if constexpr (std::is_same_v<Number, double>) {
      return plain_;
    } else {
      return precise_;
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
    const Number one = 1.0;
    return {one - Number(x_.beta1), one - Number(x_.beta2), Number(x_.lr) / rest<Number>(x_.beta1, x_.power1),
            one / square_root(rest<Number>(x_.beta2, x_.power2)), Number(x_.lr) * Number(x_.weight_decay)};
  }

  AdamWSetup s_;
  AdamWGiven x_;
  AdamWConstants<DoubleDouble> precise_;
  AdamWConstants<double> plain_;
  bool is_usual_ = true;
};

using AdamWTensors = std::array<const Array*, kAdamParts>;  // nullptr: the call has no such tensor

// Computes the elements of a tile, then again in double those that aren't finite.
class AdamWTile {
 public:
  explicit AdamWTile(const AdamWFormula& formula) : formula_(formula) { x_[kAdamMaximum].fill(0); }

  void compute(const AdamWTensors& tensors, int64_t begin, int64_t count,
               std::vector<GoldenOutput>& outputs) {
    const auto size = static_cast<size_t>(count);
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (tensors[part] != nullptr) tensors[part]->widen(begin, std::span(x_[part]).first(size));
    }
    for (size_t i = 0; i < size; ++i) store(i, compute_one<DoubleDouble>(i));
    for (size_t i = 0; i < size; ++i) {
      if (std::isfinite(value_[0][i] + value_[1][i] + value_[2][i] + value_[3][i])) continue;
      store(i, compute_one<double>(i));
      is_covered_[i] = 0;
    }
    for (size_t k = 0; k < outputs.size(); ++k) write(k, static_cast<size_t>(begin), size, outputs[k]);
  }

 private:
  template <class Number>
  AdamWResults<Number> compute_one(size_t i) const {
    return formula_.operator()<Number>(x_[kAdamVar][i], x_[kAdamM][i], x_[kAdamV][i], x_[kAdamMaximum][i],
                                       x_[kAdamGrad][i]);
  }
  template <class Number>
  void store(size_t i, const AdamWResults<Number>& r) {
    for (size_t k = 0; k < kAdamGrad; ++k) {
      value_[k][i] = rounded(r.value[k]);
      magnitude_[k][i] = r.magnitude[k];
    }
    is_covered_[i] = r.is_covered ? 1 : 0;
  }

  void write(size_t k, size_t begin, size_t size, GoldenOutput& output) const {
    const double largest = largest_finite(output.dtype);
    for (size_t i = 0; i < size; ++i) {
      const bool is_covered = formula_.is_usual() && is_covered_[i] != 0;
      output.exact[begin + i] = value_[k][i];
      output.bound[begin + i] =
          is_covered ? error_bound(value_[k][i], kAdamWBounds[k], magnitude_[k][i], largest) : kNotCovered;
    }
  }

  const AdamWFormula& formula_;
  std::array<ElementTile, kAdamParts> x_;
  ElementTile is_covered_;
  std::array<ElementTile, kAdamGrad> value_, magnitude_;
};

// Computes var, m and v, and the maximum if there is a fourth output.
inline void compute_adam_w(const AdamWFormula& formula, const AdamWTensors& tensors, int threads,
                           std::vector<GoldenOutput>& outputs) {
  for_each_range(tensors[0]->numel(), kTileElements * 64, threads, [&](int64_t begin, int64_t end) {
    AdamWTile tile(formula);
    for (; begin < end; begin += kTileElements)
      tile.compute(tensors, begin, std::min(kTileElements, end - begin), outputs);
  });
}

}  // namespace openaclnn_verify
