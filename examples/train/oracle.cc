// The references behind oracle.h. docs/numerics.md states the bounds, and the header of each
// operator its formula and order of operations. A double's own rounding (2^-53) is 2^-29 of the
// bounds' unit u = 2^-24: too small to matter. Needs -ffp-contract=off (openaclnn_flags has it):
// the scalar fp32 evaluation below must round every operation.
#include "oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace train {
namespace {

constexpr double kUnit = 0x1p-24;  // u: half a unit in the last place of 1.0f

double ulp(double x, NumberFormat format) {
  const int exponent = x == 0 ? format.min_exponent : std::max(std::ilogb(x), format.min_exponent);
  return std::ldexp(1.0, exponent - format.precision + 1);
}

// The bounds hold while every product, quotient and root of the exact formula is zero or within
// these magnitudes.
bool normal(double x) { return x == 0 || (std::abs(x) >= 0x1p-126 && std::abs(x) <= 0x1p127); }

// A sum of `terms` products may lose this much more if products are below the normal range: there
// their rounding is that of the smallest subnormal.
double underflow(int64_t terms) { return static_cast<double>(terms) * 0x1p-150; }

// |result - reference| <= ulp/2 + c u S
void compare(Deviation& deviation, NumberFormat format, float result, double reference, double c,
             double sum_of_magnitudes, double slack = 0) {
  ++deviation.elements;
  // Beyond the largest number there is no bound; the right result is infinite, or just below
  // infinity.
  if (std::abs(reference) > format.largest) {
    ++deviation.bitwise;
    if (!(std::copysign(result, reference) == result && std::abs(result) >= format.largest))
      ++deviation.wrong_bits;
    return;
  }
  double error = std::abs(result - reference);
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
  const double bound = 0.5 * ulp(result, format) + c * kUnit * sum_of_magnitudes + slack;
  deviation.of_promise = std::max(deviation.of_promise, error / bound);
  deviation.ulp = std::max(deviation.ulp, error / ulp(sum_of_magnitudes, format));
}

// To nearest even, as the last step of every operator.
float rounded(float x, NumberFormat format) {
  if (!std::isfinite(x)) return x;
  const double unit = ulp(x, format), y = std::nearbyint(x / unit) * unit;
  return static_cast<float>(std::abs(y) > format.largest ? std::copysign(HUGE_VAL, y) : y);
}

void compare_bits(Deviation& deviation, NumberFormat format, float result, float exact) {
  const float reference = rounded(exact, format);
  const uint32_t expected = std::isnan(reference) ? 0x7FC00000u : std::bit_cast<uint32_t>(reference);
  if (std::bit_cast<uint32_t>(result) != expected) ++deviation.wrong_bits;
  ++deviation.bitwise;
  ++deviation.elements;
}

// A(n) of docs/numerics.md: the rounded additions on the longest path of a sum of n terms, in
// blocks of 64 terms and superblocks of 8 blocks.
double additions(int64_t n) {
  return static_cast<double>(std::min<int64_t>(n, 64) - 1 + std::min<int64_t>((n + 63) / 64, 8) - 1);
}

// A plain sum of n terms in the prescribed order.
void compare_sum(Deviation& deviation, NumberFormat format, float result, int64_t n, double sum,
                 double magnitude) {
  if (n == 0)
    compare_bits(deviation, format, result, 0.0f);  // an empty sum is +0, so -0 would be wrong
  else
    compare(deviation, format, result, sum, n == 1 ? 0 : additions(n) + 2, magnitude);
}

// The prescribed power: repeated squaring in double, so that the coefficients have the same bits
// everywhere.
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

// The update in single precision, one rounding per operation, in the prescribed order.
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
                                const EmaAdamAttributes& a, const EmaAdamTensors& after,
                                NumberFormat format) {
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
      compare_bits(deviation.m, format, after.m[i], expected.m);
      compare_bits(deviation.v, format, after.v[i], expected.v);
      compare_bits(deviation.var, format, after.var[i], expected.var);
      compare_bits(deviation.s, format, after.s[i], expected.s);
      continue;
    }
    // S, the sums of the magnitudes of the terms, and c, the number of roundings: see
    // docs/numerics.md.
    const double magnitude_g = std::abs(grad[i]) + std::abs(decay_l2 * var);
    const double s_m = std::abs(1 - a.beta1) * magnitude_g + std::abs(a.beta1 * m);
    const double s_v = (1 - a.beta2) * magnitude_g * magnitude_g + a.beta2 * v;
    const double s_var = std::abs(var) + std::abs(a.lr) * (s_m * r1 / den + std::abs(decay_decoupled * var));
    const double s_s = std::abs(a.ema_decay * s) + std::abs(1 - a.ema_decay) * s_var;
    const double kappa = v_new == 0 ? 1 : s_v / v_new;
    const double c_var = a.mode == 1 ? 16 : 16 + 5 * kappa;
    compare(deviation.m, format, after.m[i], m_new, a.mode == 1 ? 4 : 7, s_m);
    compare(deviation.v, format, after.v[i], v_new, a.mode == 1 ? 5 : 11, s_v);
    compare(deviation.var, format, after.var[i], var_new, c_var, s_var);
    compare(deviation.s, format, after.s[i], s_new, c_var + 3, s_s);
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
                                         std::span<const float> out, int64_t row_elements,
                                         NumberFormat format) {
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
    compare_sum(deviation, format, out[i], n, sum[i], magnitude[i]);
  }
  return deviation;
}

Deviation check_grouped_bias_add_grad(std::span<const float> grad, std::span<const int64_t> ends,
                                      std::span<const float> out, NumberFormat format) {
  Deviation deviation;
  const size_t columns = out.size() / ends.size();
  for (size_t g = 0; g < ends.size(); ++g)
    for (size_t h = 0; h < columns; ++h) {
      const int64_t begin = g == 0 ? 0 : ends[g - 1];
      double sum = 0, magnitude = 0;
      for (int64_t r = begin; r < ends[g]; ++r) {
        const double term = grad[static_cast<size_t>(r) * columns + h];
        sum += term;
        magnitude += std::abs(term);
      }
      compare_sum(deviation, format, out[g * columns + h], ends[g] - begin, sum, magnitude);
    }
  return deviation;
}

namespace {

// Calls f(j, first row) for every compression block.
template <class F>
void for_each_block(const CompressionShape& shape, F f) {
  int64_t j = 0;
  for (size_t i = 0; i < shape.sequences.count(); ++i)
    for (int64_t first = 0; first + shape.blocks.length <= shape.sequences.length(i);
         first += shape.blocks.stride)
      f(j++, shape.sequences.begin(i) + first);
}

}  // namespace

Deviation check_nsa_compress(std::span<const float> input, std::span<const float> weight,
                             const CompressionShape& shape, std::span<const float> out, NumberFormat format) {
  Deviation deviation;
  const int64_t length = shape.blocks.length;
  for_each_block(shape, [&](int64_t j, int64_t first) {
    for (int64_t n = 0; n < shape.heads; ++n)
      for (int64_t e = 0; e < shape.width; ++e) {
        double sum = 0, magnitude = 0;
        for (int64_t i = 0; i < length; ++i) {
          const double term = static_cast<double>(weight[i * shape.heads + n]) *
                              input[((first + i) * shape.heads + n) * shape.width + e];
          sum += term;
          magnitude += std::abs(term);
        }
        compare(deviation, format, out[(j * shape.heads + n) * shape.width + e], sum, additions(length) + 3,
                magnitude, underflow(length));
      }
  });
  return deviation;
}

NsaCompressGradDeviation check_nsa_compress_grad(std::span<const float> out_grad,
                                                 std::span<const float> input, std::span<const float> weight,
                                                 const CompressionShape& shape,
                                                 std::span<const float> input_grad,
                                                 std::span<const float> weight_grad, NumberFormat format) {
  NsaCompressGradDeviation deviation;
  struct Sum {
    double value = 0, magnitude = 0;
    int64_t terms = 0;
    void add(double term) {
      value += term;
      magnitude += std::abs(term);
      ++terms;
    }
  };
  std::vector<Sum> inputs(input.size()), weights(weight.size());
  for_each_block(shape, [&](int64_t j, int64_t first) {
    for (int64_t i = 0; i < shape.blocks.length; ++i)
      for (int64_t n = 0; n < shape.heads; ++n)
        for (int64_t e = 0; e < shape.width; ++e) {
          const int64_t at = ((first + i) * shape.heads + n) * shape.width + e;
          const double g = out_grad[(j * shape.heads + n) * shape.width + e];
          inputs[at].add(g * weight[i * shape.heads + n]);
          weights[i * shape.heads + n].add(g * input[at]);
        }
  });
  const auto judge = [&](Deviation& part, const Sum& sum, float result, double c) {
    if (sum.terms == 0)
      compare_bits(part, format, result, 0.0f);
    else
      compare(part, format, result, sum.value, c, sum.magnitude, underflow(sum.terms));
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    judge(deviation.input, inputs[i], input_grad[i], static_cast<double>(inputs[i].terms + 1));
  for (size_t i = 0; i < weights.size(); ++i) judge(deviation.weight, weights[i], weight_grad[i], 260);
  return deviation;
}

}  // namespace train
