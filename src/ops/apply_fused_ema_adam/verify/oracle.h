// The attributes of ApplyFusedEmaAdam and two references, based on its README: the formula in long double
// with its error bounds, and the prescribed sequence of single roundings, one element at a time.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"

namespace openaclnn_verify {

// The defaults are those of the language bindings.
struct EmaAttributes {
  double lr = 1e-3;
  double ema_decay = 0.9999;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  int64_t mode = 1;
  bool bias_correction = true;
  double weight_decay = 0;
};

inline EmaAttributes recorded_ema_attributes(const RecordedCall& call) {
  const auto& a = call.reals;
  return {a.at("lr"),
          a.at("emaDecay"),
          a.at("beta1"),
          a.at("beta2"),
          a.at("eps"),
          call.integers.at("mode"),
          call.integers.at("biasCorrection") != 0,
          a.at("weightDecay")};
}

inline RecordedCall recorded_attributes_of(const EmaAttributes& a) {
  RecordedCall call;
  call.reals = {{"lr", a.lr},   {"emaDecay", a.ema_decay},      {"beta1", a.beta1}, {"beta2", a.beta2},
                {"eps", a.eps}, {"weightDecay", a.weight_decay}};
  call.integers = {{"mode", a.mode}, {"biasCorrection", a.bias_correction ? 1 : 0}};
  return call;
}

// The tensors in the order of the signature.
enum EmaTensor { kGrad, kVar, kM, kV, kS, kStep, kEmaTensors };
inline constexpr const char* kEmaNames[kEmaTensors] = {"grad", "varRef", "mRef", "vRef", "sRef", "step"};

// One element of grad, var, m, v, s.
using EmaElement = std::array<double, kStep>;

// Results indexed by EmaTensor; kGrad is unused.
struct EmaExact {
  std::array<long double, kStep> value = {};
  std::array<long double, kStep> magnitude = {};  // S of the bounds
  long double kappa = 0;
  bool is_covered = true;  // the bounds apply: no product, quotient or root exceeds the range they assume
};

class EmaExactReference {
 public:
  EmaExactReference(const EmaAttributes& attributes, int64_t t)
      : a_(attributes), r1_(correction(attributes.beta1, t)), r2_(correction(attributes.beta2, t)) {}

  EmaExact operator()(const EmaElement& x) const {
    EmaExact out;
    const auto keep = [&out](long double y) {
      const long double magnitude = std::fabs(y);
      if (y != 0 && !(magnitude >= 0x1p-126L && magnitude <= 0x1p127L)) out.is_covered = false;
      return y;
    };
    const long double decay = keep(static_cast<long double>(a_.weight_decay) * x[kVar]);
    const bool joins_gradient = a_.mode == 0;
    const long double g = x[kGrad] + (joins_gradient ? decay : 0);
    const long double g_magnitude =
        std::fabs(static_cast<long double>(x[kGrad])) + (joins_gradient ? std::fabs(decay) : 0);

    const long double m_old = keep(static_cast<long double>(a_.beta1) * x[kM]);
    const long double m_new = keep((1.0L - a_.beta1) * g);
    const long double m = m_old + m_new;
    const long double m_magnitude = std::fabs(1.0L - a_.beta1) * g_magnitude + std::fabs(m_old);

    const long double v_old = keep(static_cast<long double>(a_.beta2) * x[kV]);
    const long double v = keep((1.0L - a_.beta2) * keep(g * g)) + v_old;
    const long double v_magnitude = (1.0L - a_.beta2) * g_magnitude * g_magnitude + v_old;

    const long double denominator = keep(std::sqrt(keep(v * keep(r2_)))) + a_.eps;
    const long double update = keep(keep(m * keep(r1_)) / denominator) + (joins_gradient ? 0 : decay);
    const long double update_magnitude =
        m_magnitude * r1_ / denominator + (joins_gradient ? 0 : std::fabs(decay));
    const long double var = x[kVar] - keep(a_.lr * update);
    const long double var_magnitude =
        std::fabs(static_cast<long double>(x[kVar])) + std::fabs(a_.lr) * update_magnitude;

    const long double s_old = keep(static_cast<long double>(a_.ema_decay) * x[kS]);
    const long double ema = 1.0L - a_.ema_decay;
    const long double s = s_old + keep(ema * var);

    out.value = {0, var, m, v, s};
    out.magnitude = {0, var_magnitude, m_magnitude, v_magnitude,
                     std::fabs(s_old) + std::fabs(ema) * var_magnitude};
    out.kappa = v_magnitude / v;
    for (const long double magnitude : out.magnitude)
      out.is_covered = out.is_covered && magnitude <= 0x1p127L;
    out.is_covered = out.is_covered && denominator > 0 && (joins_gradient ? out.kappa <= 1024 : true);
    return out;
  }

 private:
  // Returns 1 / (1 - beta^t) without the cancellation of the subtraction.
  long double correction(double beta, int64_t t) const {
    return a_.bias_correction ? -1 / std::expm1(t * std::log1p(beta - 1.0L)) : 1;
  }

  EmaAttributes a_;
  long double r1_, r2_;
};

// |result - reference| <= ulp(result) / 2 + c * 2^-24 * S, with S from the README's table.
struct EmaBounds {
  double m, v, var, s;  // c of each output
};
// kappa: S of v' divided by v'. A decay of the opposite sign makes it larger than 1.
inline EmaBounds ema_adam_bounds(int64_t mode, double kappa) {
  const double var = mode == 1 ? 16 : 16 + 5 * kappa;
  return mode == 1 ? EmaBounds{4, 5, var, var + 3} : EmaBounds{7, 11, var, var + 3};
}
// The bounds if the gradient is a rounded quotient. Its rounding counts once in m', twice in v', and in var' once by m' and once,
// times kappa, by the root.
inline EmaBounds ema_adam_bounds_of_quotient(int64_t mode, double kappa) {
  const EmaBounds exact = ema_adam_bounds(mode, kappa);
  const double var = 1 + kappa;
  return {exact.m + 1, exact.v + 2, exact.var + var, exact.s + var};
}

// Elements outside the ranges that the bounds assume are skipped.
inline JudgeResults ema_adam_judge(const EmaAttributes& attributes) {
  return [attributes](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                      Judge& judge) {
    const EmaExactReference reference(attributes, static_cast<int64_t>(before[kStep].bits(0)));
    std::array<OutputRecord*, kStep> records = {};
    for (size_t k = kVar; k < kStep; ++k) {
      records[k] = &judge.output(
          "ApplyFusedEmaAdam " + std::string(kEmaNames[k]) + ", mode " + std::to_string(attributes.mode),
          after[k].dtype());
    }
    for (int64_t i = 0; i < after[kGrad].numel(); ++i) {
      EmaElement x;
      for (size_t k = 0; k < kStep; ++k) x[k] = before[k].get(i);
      const EmaExact exact = reference(x);
      const EmaBounds bounds = ema_adam_bounds(attributes.mode, static_cast<double>(exact.kappa));
      const std::array<double, kStep> c = {0, bounds.var, bounds.m, bounds.v, bounds.s};
      for (size_t k = kVar; k < kStep; ++k) {
        if (exact.is_covered) {
          records[k]->compare(after[k].get(i), exact.value[k], c[k], exact.magnitude[k]);
        } else {
          records[k]->skip();
        }
      }
    }
  };
}

// The bits that the contract prescribes. One C++ operation on floats is one IEEE operation: the build
// disables contraction.
class EmaBitsReference {
 public:
  EmaBitsReference(aclDataType dtype, const EmaAttributes& a, int64_t t) : dtype_(dtype), a_(a) {
    const auto correction = [&](double beta) {
      return a.bias_correction ? static_cast<float>(1 / (1 - power(beta, t))) : 1.0f;
    };
    r1_ = correction(a.beta1);
    r2_ = correction(a.beta2);
  }

  // Returns the bits of the results from the bits of grad, var, m, v, s.
  std::array<uint64_t, kStep> operator()(const std::array<uint64_t, kStep>& bits) const {
    std::array<float, kStep> x;
    for (size_t k = 0; k < kStep; ++k) x[k] = static_cast<float>(decode(dtype_, bits[k]));
    const auto fl = [](double coefficient) { return static_cast<float>(coefficient); };
    const auto plus = [](float a, float b) { return a + b; };
    const auto times = [](float a, float b) { return a * b; };

    float g = x[kGrad];
    if (a_.mode == 0) g = plus(times(fl(a_.weight_decay), x[kVar]), g);
    const float m = plus(times(fl(1 - a_.beta1), g), times(fl(a_.beta1), x[kM]));
    const float v = plus(times(times(g, g), fl(1 - a_.beta2)), times(fl(a_.beta2), x[kV]));
    const float denominator = plus(std::sqrt(times(v, r2_)), fl(a_.eps));
    float q = times(m, r1_) / denominator;
    if (a_.mode == 1) q = plus(q, times(fl(a_.weight_decay), x[kVar]));
    const float var = x[kVar] - times(fl(a_.lr), q);
    const float s = plus(times(fl(a_.ema_decay), x[kS]), times(fl(1 - a_.ema_decay), var));
    const auto stored = [&](float y) { return encode(dtype_, static_cast<double>(y)); };
    return {bits[kGrad], stored(var), stored(m), stored(v), stored(s)};
  }

  float r1() const { return r1_; }
  float r2() const { return r2_; }

 private:
  static double power(double base, int64_t t) {
    const uint64_t n = t < 0 ? ~static_cast<uint64_t>(t) + 1 : static_cast<uint64_t>(t);
    double product = 1;
    double square = base;
    for (int bit = 0; bit < static_cast<int>(std::bit_width(n)); ++bit, square *= square) {
      if ((n >> bit & 1) != 0) product *= square;
    }
    return t < 0 ? 1 / product : product;
  }

  aclDataType dtype_;
  EmaAttributes a_;
  float r1_, r2_;
};

}  // namespace openaclnn_verify
