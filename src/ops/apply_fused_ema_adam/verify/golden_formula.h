// The formula of ApplyFusedEmaAdam over a number type: in 106 bits, and in double where a result isn't finite. In the order of the
// oracle. Kernels of several instruction sets include this, so everything is inlined.
#pragma once

#include "verify/golden/elements.h"

namespace openaclnn_verify {

// The numbers of a call that are the same for all elements.
template <class Number>
struct EmaConstants {
  Number one_minus_beta1, one_minus_beta2, one_minus_ema, r1, r2;
};
struct EmaGiven {
  double lr, ema_decay, beta1, beta2, eps, weight_decay;
};

// The elements before the call. `grad` may be a quotient that double can't hold.
template <class Number>
struct EmaBefore {
  using Real = typename NumberTraits<Number>::Real;
  Number grad;
  Real var, m, v, s;
};

// The results of one element in the order of the outputs: var, m, v, s.
inline constexpr int kEmaOutputs = 4;
template <class Number>
struct EmaResults {
  using Real = typename NumberTraits<Number>::Real;
  Number value[kEmaOutputs];
  Real magnitude[kEmaOutputs];  // S of the bounds
  Real kappa;
  MaskOf<Real> is_covered;
};

template <bool joins_gradient, class Number>
[[gnu::always_inline]] inline EmaResults<Number> ema_formula(const EmaGiven& a, const EmaConstants<Number>& k,
                                                             const EmaBefore<Number>& before) {
  using Traits = NumberTraits<Number>;
  using Real = typename Traits::Real;
  using std::fabs;
  Magnitudes<Real> seen;
  const Real zero = 0.0;
  const Number decay = seen.keep(Traits::product(a.weight_decay, before.var));
  const Number g = joins_gradient ? before.grad + decay : before.grad;
  const Real decay_size = fabs(rounded(decay));
  const Real g_size = fabs(rounded(before.grad)) + (joins_gradient ? decay_size : zero);

  const Number m_old = seen.keep(Traits::product(a.beta1, before.m));
  const Number m = m_old + seen.keep(k.one_minus_beta1 * g);
  const Real m_size = fabs(rounded(k.one_minus_beta1)) * g_size + fabs(rounded(m_old));

  const Number v_old = seen.keep(Traits::product(a.beta2, before.v));
  const Number v = seen.keep(k.one_minus_beta2 * seen.keep(g * g)) + v_old;
  const Real v_size = rounded(k.one_minus_beta2) * g_size * g_size + rounded(v_old);

  const Number denominator = seen.keep(square_root(seen.keep(v * k.r2))) + Real(a.eps);
  const Number quotient = seen.keep(seen.keep(m * k.r1) / denominator);
  const Number update = joins_gradient ? quotient : quotient + decay;
  const Real update_size =
      m_size * rounded(k.r1) / rounded(denominator) + (joins_gradient ? zero : decay_size);
  const Number var = Number(before.var) - seen.keep(update * Real(a.lr));
  const Real var_size = fabs(before.var) + fabs(Real(a.lr)) * update_size;

  const Number s_old = seen.keep(Traits::product(a.ema_decay, before.s));
  const Number s = s_old + seen.keep(k.one_minus_ema * var);
  const Real s_size = fabs(rounded(s_old)) + fabs(rounded(k.one_minus_ema)) * var_size;

  const Real kappa = v_size / rounded(v);
  MaskOf<Real> is_covered = seen.in_range() & (rounded(denominator) > zero) & (before.v >= zero);
  if constexpr (joins_gradient) is_covered = is_covered & (kappa <= Real(1024.0));
  return {{var, m, v, s}, {var_size, m_size, v_size, s_size}, kappa, is_covered};
}

}  // namespace openaclnn_verify
