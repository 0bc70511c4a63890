// The references behind oracle.h. The bounds and their constants are those of section 7 of the
// specification, the formulas and the order of operations those of section 2. A double's own
// rounding (2^-53) is 2^-29 of the bounds' unit u = 2^-24: too small to matter. Needs
// -ffp-contract=off (openaclnn_flags has it): the scalar fp32 evaluation below must round every
// operation.
#include "oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace train {
namespace {

constexpr double kUnit = 0x1p-24;  // u: half a unit in the last place of 1.0f

// A storage format as section 7.1 describes it; FLOAT16 would be {11, -14}, BF16 {8, -126}.
struct NumberFormat {
  int precision;
  int min_exponent;
};
constexpr NumberFormat kFloat{24, -126};

double ulp(double x, NumberFormat format) {
  const int exponent = x == 0 ? format.min_exponent : std::max(std::ilogb(x), format.min_exponent);
  return std::ldexp(1.0, exponent - format.precision + 1);
}

// The bounds hold while every product, quotient and root of the exact formula is zero or within
// these magnitudes.
bool normal(double x) { return x == 0 || (std::abs(x) >= 0x1p-126 && std::abs(x) <= 0x1p127); }

// |result - reference| <= ulp/2 + c u S
void compare(Deviation& deviation, float result, double reference, double c, double sum_of_magnitudes) {
  double error = std::abs(result - reference);
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  deviation.of_promise =
      std::max(deviation.of_promise, error / (0.5 * ulp(result, kFloat) + c * kUnit * sum_of_magnitudes));
  deviation.ulp = std::max(deviation.ulp, error / ulp(sum_of_magnitudes, kFloat));
  ++deviation.elements;
}

void compare_bits(Deviation& deviation, float result, float reference) {
  const uint32_t expected = std::isnan(reference) ? 0x7FC00000u : std::bit_cast<uint32_t>(reference);
  if (std::bit_cast<uint32_t>(result) != expected) ++deviation.wrong_bits;
  ++deviation.bitwise;
  ++deviation.elements;
}

// The specification's own power: repeated squaring in double, so that the coefficients are the same
// bits everywhere.
double power(double base, int64_t exponent) {
  uint64_t n = exponent < 0 ? -static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  double result = 1;
  while (n) {
    if (n & 1) result = result * base;
    n >>= 1;
    if (n) base = base * base;
  }
  return exponent < 0 ? 1 / result : result;
}

struct Element {
  float m, v, var, s;
};

// The update in single precision, one rounding per operation, as section 2.1 orders them.
Element scalar_ema_adam(float grad, Element old, int64_t step, const EmaAdamAttributes& a) {
  const auto b1 = static_cast<float>(a.beta1), not_b1 = static_cast<float>(1 - a.beta1);
  const auto b2 = static_cast<float>(a.beta2), not_b2 = static_cast<float>(1 - a.beta2);
  const auto lr = static_cast<float>(a.lr), eps = static_cast<float>(a.eps),
             decay = static_cast<float>(a.weight_decay);
  const auto ema = static_cast<float>(a.ema_decay), not_ema = static_cast<float>(1 - a.ema_decay);
  const auto r1 = a.bias_correction ? static_cast<float>(1 / (1 - power(a.beta1, step))) : 1.0f;
  const auto r2 = a.bias_correction ? static_cast<float>(1 / (1 - power(a.beta2, step))) : 1.0f;
  const float g = a.mode == 0 ? decay * old.var + grad : grad;
  Element now;
  now.m = not_b1 * g + b1 * old.m;
  now.v = (g * g) * not_b2 + b2 * old.v;
  float q = (now.m * r1) / (std::sqrt(now.v * r2) + eps);
  if (a.mode == 1) q = q + decay * old.var;
  now.var = old.var - lr * q;
  now.s = ema * old.s + not_ema * now.var;
  return now;
}

}  // namespace

void Deviation::merge(const Deviation& other) {
  ulp = std::max(ulp, other.ulp);
  of_promise = std::max(of_promise, other.of_promise);
  elements += other.elements;
  bitwise += other.bitwise;
  wrong_bits += other.wrong_bits;
}

EmaAdamDeviation check_ema_adam(std::span<const float> grad, const EmaAdamTensors& before, int64_t step,
                                const EmaAdamAttributes& a, const EmaAdamTensors& after) {
  EmaAdamDeviation deviation;
  const double r1 = a.bias_correction ? 1 / (1 - std::pow(a.beta1, static_cast<double>(step))) : 1;
  const double r2 = a.bias_correction ? 1 / (1 - std::pow(a.beta2, static_cast<double>(step))) : 1;
  const double decay_l2 = a.mode == 0 ? a.weight_decay : 0,
               decay_decoupled = a.mode == 1 ? a.weight_decay : 0;
  for (size_t i = 0; i < grad.size(); ++i) {
    const double var = before.var[i], m = before.m[i], v = before.v[i], s = before.s[i];
    const double g = grad[i] + decay_l2 * var;
    const double m_new = a.beta1 * m + (1 - a.beta1) * g;
    const double v_new = a.beta2 * v + (1 - a.beta2) * g * g;
    const double root = std::sqrt(v_new * r2), den = root + a.eps;
    const double adam = m_new * r1 / den, q = adam + decay_decoupled * var;
    const double var_new = var - a.lr * q;
    const double s_new = a.ema_decay * s + (1 - a.ema_decay) * var_new;

    const double products[] = {decay_l2 * var,
                               (1 - a.beta1) * g,
                               a.beta1 * m,
                               g * g,
                               (1 - a.beta2) * g * g,
                               a.beta2 * v,
                               v_new * r2,
                               root,
                               m_new * r1,
                               adam,
                               decay_decoupled * var,
                               a.lr * q,
                               a.ema_decay * s,
                               (1 - a.ema_decay) * var_new};
    if (!std::all_of(std::begin(products), std::end(products), normal)) {
      const Element expected =
          scalar_ema_adam(grad[i], {before.m[i], before.v[i], before.var[i], before.s[i]}, step, a);
      compare_bits(deviation.m, after.m[i], expected.m);
      compare_bits(deviation.v, after.v[i], expected.v);
      compare_bits(deviation.var, after.var[i], expected.var);
      compare_bits(deviation.s, after.s[i], expected.s);
      continue;
    }
    // S, the sums of the magnitudes of the terms, and c, the number of roundings: table 7.2.
    const double magnitude_g = std::abs(grad[i]) + std::abs(decay_l2 * var);
    const double s_m = std::abs(1 - a.beta1) * magnitude_g + std::abs(a.beta1 * m);
    const double s_v = (1 - a.beta2) * magnitude_g * magnitude_g + a.beta2 * v;
    const double s_var = std::abs(var) + std::abs(a.lr) * (s_m * r1 / den + std::abs(decay_decoupled * var));
    const double s_s = std::abs(a.ema_decay * s) + std::abs(1 - a.ema_decay) * s_var;
    const double kappa = v_new == 0 ? 1 : s_v / v_new;
    const double c_var = a.mode == 1 ? 16 : 16 + 5 * kappa;
    compare(deviation.m, after.m[i], m_new, a.mode == 1 ? 4 : 7, s_m);
    compare(deviation.v, after.v[i], v_new, a.mode == 1 ? 5 : 11, s_v);
    compare(deviation.var, after.var[i], var_new, c_var, s_var);
    compare(deviation.s, after.s[i], s_new, c_var + 3, s_s);
  }
  return deviation;
}

Deviation check_embedding(std::span<const float> weight, std::span<const int32_t> indices,
                          std::span<const float> out, int64_t row_elements) {
  Deviation deviation;
  for (size_t n = 0; n < indices.size(); ++n)
    for (int64_t d = 0; d < row_elements; ++d) {
      const auto result = std::bit_cast<uint32_t>(out[n * row_elements + d]);
      if (result != std::bit_cast<uint32_t>(weight[indices[n] * row_elements + d])) ++deviation.wrong_bits;
    }
  deviation.elements = deviation.bitwise = static_cast<int64_t>(out.size());
  return deviation;
}

Deviation check_embedding_dense_backward(std::span<const float> grad, std::span<const int32_t> indices,
                                         std::span<const float> out, int64_t row_elements) {
  Deviation deviation;
  std::vector<double> sum(out.size()), magnitude(out.size());
  std::vector<int64_t> count(out.size() / row_elements);
  for (size_t n = 0; n < indices.size(); ++n) {
    ++count[indices[n]];
    for (int64_t d = 0; d < row_elements; ++d) {
      const double term = grad[n * row_elements + d];
      sum[indices[n] * row_elements + d] += term;
      magnitude[indices[n] * row_elements + d] += std::abs(term);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t n = count[i / row_elements];
    if (n == 0) {
      compare_bits(deviation, out[i], 0.0f);  // the specification writes +0, so -0 would be wrong
      continue;
    }
    // A(n) of section 7.2: the rounded additions on the longest path, windows of 64 terms and
    // chunks of 8 windows.
    const int64_t additions = std::min<int64_t>(n, 64) - 1 + std::min<int64_t>((n + 63) / 64, 8) - 1;
    compare(deviation, out[i], sum[i], n == 1 ? 0 : static_cast<double>(additions + 2), magnitude[i]);
  }
  return deviation;
}

}  // namespace train
