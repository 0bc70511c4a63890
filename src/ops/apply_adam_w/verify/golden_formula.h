// The formula of ApplyAdamW over a number type: in 106 bits, and in double where a result isn't finite. In the order of the oracle.
// Kernels of several instruction sets include this, so everything is inlined.
#pragma once

#include "verify/golden/elements.h"

namespace openaclnn_verify {

// The numbers of a call that are the same for all elements.
template <class Number>
struct AdamWConstants {
  Number one_minus_beta1, one_minus_beta2;
  Number size, scale;       // lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t)
  Number decay, undecayed;  // lr * weightDecay, and 1 - decay
};
struct AdamWAttributes {
  double beta2, eps;
  bool amsgrad, maximize;
  bool stores_maximum_as_v;  // the first version with amsgrad
};

// The elements before the call. Without amsgrad, `maximum` is anything.
template <class Real>
struct AdamWBefore {
  Real grad, var, m, v, maximum;
};

// The results of one element: var, m, v, maximum.
inline constexpr int kAdamWOutputs = 4;
template <class Number>
struct AdamWResults {
  using Real = typename NumberTraits<Number>::Real;
  Number value[kAdamWOutputs];
  Real magnitude[kAdamWOutputs];  // S of the bounds
  MaskOf<Real> is_covered;
};

template <class Number, class Real = typename NumberTraits<Number>::Real>
[[gnu::always_inline]] inline AdamWResults<Number> adam_w_formula(const AdamWAttributes& a,
                                                                  const AdamWConstants<Number>& k,
                                                                  const AdamWBefore<Real>& before) {
  using Traits = NumberTraits<Number>;
  using std::fabs;
  Magnitudes<Real> seen;
  const Real zero = 0.0;
  const Real g = a.maximize ? -before.grad : before.grad;
  const Number m = Number(before.m) + seen.keep(k.one_minus_beta1 * (Number(g) - Number(before.m)));
  const Real m_size = fabs(before.m) + fabs(rounded(k.one_minus_beta1)) * (fabs(g) + fabs(before.m));

  const Number v_old = seen.keep(Traits::product(a.beta2, before.v));
  const Number v = v_old + seen.keep(k.one_minus_beta2 * seen.keep(Traits::product(g, g)));
  Number n = v;
  if (a.amsgrad) {
    const Real maximum = before.maximum;
    // NaN if either is NaN.
    n = select((rounded(Number(maximum) - v) > zero) | is_nan(maximum), Number(maximum), v);
  }

  const Number size = seen.keep(k.size), scale = seen.keep(k.scale);
  const Number denominator = seen.keep(seen.keep(square_root(n)) * scale) + Real(a.eps);
  const Number step = seen.keep(seen.keep(size * m) / denominator);
  const Number var = seen.keep(k.undecayed * before.var) - step;
  const Real var_size = fabs(before.var) * (Real(1.0) + fabs(rounded(k.decay))) +
                        fabs(rounded(size)) * m_size / rounded(denominator);

  const MaskOf<Real> is_covered = seen.in_range() & (rounded(denominator) > zero) & (before.v >= zero);
  return {{var, m, a.stores_maximum_as_v ? n : v, n}, {var_size, m_size, rounded(v), rounded(v)}, is_covered};
}

}  // namespace openaclnn_verify
