// The formula of ApplyFusedEmaAdam over a number type: in 106 bits, and in double where a result isn't finite.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/elements.h"
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

// The numbers of a call that are the same for all elements.
template <class Number>
struct EmaConstants {
  Number one_minus_beta1, one_minus_beta2, one_minus_ema, r1, r2;
};

// The results of one element in the order of the outputs: var, m, v, s.
inline constexpr size_t kEmaOutputs = 4;
template <class Number>
struct EmaResults {
  std::array<Number, kEmaOutputs> value;
  std::array<double, kEmaOutputs> magnitude;  // S of the bounds
  double kappa;
  bool is_covered;
};

class EmaFormula {
 public:
  EmaFormula(const EmaAttributes& a, int64_t t) : a_(a) {
    precise_ = {one_minus(a.beta1), one_minus(a.beta2), one_minus(a.ema_decay), 1.0, 1.0};
    plain_ = {1 - a.beta1, 1 - a.beta2, 1 - a.ema_decay, 1.0, 1.0};
    if (a.bias_correction) {
      precise_.r1 = bias_correction<DoubleDouble>(a.beta1, t);
      precise_.r2 = bias_correction<DoubleDouble>(a.beta2, t);
      plain_.r1 = bias_correction<double>(a.beta1, t);
      plain_.r2 = bias_correction<double>(a.beta2, t);
    }
    is_usual_ =
        is_usual_decay(a.beta1) && is_usual_decay(a.beta2) && a.eps >= 0 && (t >= 1 || !a.bias_correction);
  }

  const EmaAttributes& attributes() const { return a_; }
  bool is_usual() const { return is_usual_; }  // the error bounds hold for such attributes
  template <class Number>
  const EmaConstants<Number>& constants() const {
    if constexpr (std::is_same_v<Number, double>) {
      return plain_;
    } else {
      return precise_;
    }
  }

  // The arithmetic is in the order of the oracle. `grad` may be a quotient that double can't hold.
  template <bool joins_gradient, class Number>
  [[gnu::always_inline]] EmaResults<Number> operator()(Number grad, double var_before, double m_before,
                                                       double v_before, double s_before) const {
    const EmaConstants<Number>& k = constants<Number>();
    Magnitudes seen;
    const auto product = [](double one, double other) { return Number(one) * Number(other); };
    const Number decay = seen.keep(product(a_.weight_decay, var_before));
    const Number g = joins_gradient ? grad + decay : grad;
    const double decay_size = std::fabs(rounded(decay));
    const double g_size = std::fabs(rounded(grad)) + (joins_gradient ? decay_size : 0);

    const Number m_old = seen.keep(product(a_.beta1, m_before));
    const Number m = m_old + seen.keep(k.one_minus_beta1 * g);
    const double m_size = std::fabs(rounded(k.one_minus_beta1)) * g_size + std::fabs(rounded(m_old));

    const Number v_old = seen.keep(product(a_.beta2, v_before));
    const Number v = seen.keep(k.one_minus_beta2 * seen.keep(g * g)) + v_old;
    const double v_size = rounded(k.one_minus_beta2) * g_size * g_size + rounded(v_old);

    const Number denominator = seen.keep(square_root(seen.keep(v * k.r2))) + Number(a_.eps);
    const Number quotient = seen.keep(seen.keep(m * k.r1) / denominator);
    const Number update = joins_gradient ? quotient : quotient + decay;
    const double update_size =
        m_size * rounded(k.r1) / rounded(denominator) + (joins_gradient ? 0 : decay_size);
    const Number var = Number(var_before) - seen.keep(Number(a_.lr) * update);
    const double var_size = std::fabs(var_before) + std::fabs(a_.lr) * update_size;

    const Number s_old = seen.keep(product(a_.ema_decay, s_before));
    const Number s = s_old + seen.keep(k.one_minus_ema * var);
    const double s_size = std::fabs(rounded(s_old)) + std::fabs(rounded(k.one_minus_ema)) * var_size;

    EmaResults<Number> out = {{var, m, v, s}, {var_size, m_size, v_size, s_size}, v_size / rounded(v), false};
    const bool is_conditioned = !joins_gradient | (out.kappa <= 1024);
    out.is_covered = seen.in_range() & (rounded(denominator) > 0) & (v_before >= 0) & is_conditioned;
    return out;
  }

 private:
  EmaAttributes a_;
  EmaConstants<DoubleDouble> precise_;
  EmaConstants<double> plain_;
  bool is_usual_ = true;
};

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

// Computes the elements of a tile, then again in double those that aren't finite.
template <bool joins_gradient>
class EmaTile {
 public:
  EmaTile(const EmaFormula& formula, const EmaScale& scale)
      : formula_(formula), scale_(scale), is_quotient_(!scale.is_exact()) {}

  void compute(const EmaTensors& tensors, int64_t begin, int64_t count, GoldenOutput* outputs) {
    const auto size = static_cast<size_t>(count);
    for (size_t k = 0; k < kStep; ++k) tensors[k]->widen(begin, std::span(x_[k]).first(size));
    divide(size);
    for (size_t i = 0; i < size; ++i) {
      const auto r = formula_.template operator()<joins_gradient, DoubleDouble>(
          {grad_high_[i], grad_low_[i]}, x_[kVar][i], x_[kM][i], x_[kV][i], x_[kS][i]);
      for (size_t k = 0; k < kEmaOutputs; ++k) {
        value_[k][i] = r.value[k].high;
        magnitude_[k][i] = r.magnitude[k];
      }
      kappa_[i] = r.is_covered ? r.kappa : kNotCovered;
    }
    for (size_t i = 0; i < size; ++i) {
      if (!std::isfinite(value_[0][i] + value_[1][i] + value_[2][i] + value_[3][i])) compute_in_double(i);
    }
    for (size_t k = 0; k < kEmaOutputs; ++k) write(k, static_cast<size_t>(begin), size, outputs[k]);
  }

 private:
  void divide(size_t size) {
    if (!scale_.is_given) {
      grad_high_ = x_[kGrad];
      grad_low_.fill(0);
      return;
    }
    for (size_t i = 0; i < size; ++i) {
      const DoubleDouble quotient = DoubleDouble(x_[kGrad][i]) / DoubleDouble(scale_.divisor);
      grad_high_[i] = quotient.high;
      grad_low_[i] = quotient.low;
    }
  }

  void compute_in_double(size_t i) {
    const double grad = x_[kGrad][i] / scale_.divisor;
    const auto r = formula_.template operator()<joins_gradient, double>(grad, x_[kVar][i], x_[kM][i],
                                                                        x_[kV][i], x_[kS][i]);
    for (size_t k = 0; k < kEmaOutputs; ++k) value_[k][i] = r.value[k];
    kappa_[i] = kNotCovered;
  }

  // A quotient below the normal floats loses more than one rounding.
  bool is_covered(size_t i) const {
    const double quotient = std::fabs(grad_high_[i]);
    const bool is_normal = quotient == 0 || (quotient >= 0x1p-126 && quotient <= 0x1p127);
    return formula_.is_usual() && !std::isnan(kappa_[i]) && (is_normal || !scale_.is_given);
  }

  void write(size_t k, size_t begin, size_t size, GoldenOutput& output) const {
    constexpr int64_t kMode = joins_gradient ? 0 : 1;
    const double largest = largest_finite(output.dtype);
    for (size_t i = 0; i < size; ++i) {
      const EmaBounds bounds =
          is_quotient_ ? ema_adam_bounds_of_quotient(kMode, kappa_[i]) : ema_adam_bounds(kMode, kappa_[i]);
      const std::array<double, kEmaOutputs> c = {bounds.var, bounds.m, bounds.v, bounds.s};
      output.exact[begin + i] = value_[k][i];
      output.bound[begin + i] =
          is_covered(i) ? error_bound(value_[k][i], c[k], magnitude_[k][i], largest) : kNotCovered;
    }
  }

  const EmaFormula& formula_;
  const EmaScale scale_;
  const bool is_quotient_;
  std::array<ElementTile, kStep> x_;
  ElementTile grad_high_, grad_low_, kappa_;
  std::array<ElementTile, kEmaOutputs> value_, magnitude_;
};

// Computes var, m, v and s to four outputs.
inline void compute_ema(const EmaFormula& formula, const EmaScale& scale, const EmaTensors& tensors,
                        int threads, GoldenOutput* outputs) {
  const auto compute = [&]<bool joins_gradient>() {
    for_each_range(tensors[0]->numel(), kTileElements * 64, threads, [&](int64_t begin, int64_t end) {
      EmaTile<joins_gradient> tile(formula, scale);
      for (; begin < end; begin += kTileElements)
        tile.compute(tensors, begin, std::min(kTileElements, end - begin), outputs);
    });
  };
  if (formula.attributes().mode == 0) {
    compute.template operator()<true>();
  } else {
    compute.template operator()<false>();
  }
}

}  // namespace openaclnn_verify
