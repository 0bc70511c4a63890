// Emulates accumulators and orders of additions. The build disables contraction, so each operation rounds once.
#include "judge/sum_emulation.h"

#include <cmath>

#include "base/text.h"

namespace openaclnn_judge {

namespace {

using openaclnn_verify::Term;

// The arithmetic of one accumulator. Sums of two numbers are exact enough in double to be rounded once.
class Arithmetic {
 public:
  explicit Arithmetic(const SumOrder& order) : order_(order), narrow_(dtype_of(order.accumulator)) {}

  double rounded(double x) const {
    return order_.accumulator == Accumulator::float32 ? static_cast<double>(static_cast<float>(x))
                                                      : narrow_.round(x);
  }
  double plus(double a, double b) const { return rounded(a + b); }
  double product(const Term& term) const { return rounded(term.one * term.other); }
  double add_term(double sum, const Term& term) const {
    if (!order_.is_fused) return plus(sum, product(term));
    if (order_.accumulator != Accumulator::float32) return rounded(std::fma(term.one, term.other, sum));
    return static_cast<double>(
        std::fma(static_cast<float>(term.one), static_cast<float>(term.other), static_cast<float>(sum)));
  }
  // Adds neighbours until one sum is left.
  double in_pairs(std::vector<double> sums) const {
    if (sums.empty()) return 0;
    while (sums.size() > 1) {
      const size_t half = (sums.size() + 1) / 2;
      for (size_t k = 0; k < half; ++k) {
        sums[k] = 2 * k + 1 < sums.size() ? plus(sums[2 * k], sums[2 * k + 1]) : sums[2 * k];
      }
      sums.resize(half);
    }
    return sums[0];
  }
  // Adds the upper half to the lower half until one sum is left, as warps do.
  double in_halves(std::vector<double> sums) const {
    while (sums.size() > 1) {
      const size_t half = sums.size() / 2;
      for (size_t k = 0; k < half; ++k) sums[k] = plus(sums[k], sums[k + half]);
      sums.resize(half);
    }
    return sums[0];
  }

 private:
  static aclDataType dtype_of(Accumulator accumulator) {
    return accumulator == Accumulator::float16    ? ACL_FLOAT16
           : accumulator == Accumulator::bfloat16 ? ACL_BF16
                                                  : ACL_FLOAT;
  }
  const SumOrder& order_;
  Spacing narrow_;
};

}  // namespace

double Narrowing::apply(double x) const {
  if (x == 0 || !std::isfinite(x)) return x;
  const double quantum = std::ldexp(1.0, std::ilogb(x) - digits);
  return (truncates ? std::trunc(x / quantum) : std::nearbyint(x / quantum)) * quantum;
}

double SumOrder::add(const std::vector<Term>& terms) const {
  const Arithmetic arithmetic(*this);
  double sum = 0;
  switch (order) {
    case Order::forward:
      for (const Term& term : terms) sum = arithmetic.add_term(sum, term);
      return sum;
    case Order::backward:
      for (size_t k = terms.size(); k-- > 0;) sum = arithmetic.add_term(sum, terms[k]);
      return sum;
    case Order::lanes: {
      std::vector<double> sums(static_cast<size_t>(lanes));
      for (size_t k = 0; k < terms.size(); ++k) {
        double& lane = sums[k % sums.size()];
        lane = arithmetic.add_term(lane, terms[k]);
      }
      return arithmetic.in_halves(std::move(sums));
    }
    default: {
      std::vector<double> sums;
      for (const Term& term : terms) sums.push_back(arithmetic.product(term));
      return arithmetic.in_pairs(std::move(sums));
    }
  }
}

std::string SumOrder::text() const {
  const char* const how = order == Order::forward    ? "one after another"
                          : order == Order::backward ? "one after another, the last one first"
                          : order == Order::lanes    ? "in partial sums"
                                                     : "in pairs";
  if (is_narrow()) {
    return openaclnn::text("The sums are rounded to ",
                           accumulator == Accumulator::float16 ? "FLOAT16" : "BF16",
                           " after each addition. Accumulate in FLOAT and round once at the end.");
  }
  return openaclnn::text("The terms are added in FLOAT ", how,
                         order == Order::lanes ? openaclnn::text(" (", lanes, ")") : std::string(),
                         ". Add blocks of terms and then their sums, or accumulate in DOUBLE.");
}

const std::vector<SumOrder>& sum_orders() {
  static const std::vector<SumOrder> all = [] {
    std::vector<SumOrder> made;
    for (const Accumulator accumulator :
         {Accumulator::float16, Accumulator::bfloat16, Accumulator::float32}) {
      for (const bool is_fused : {false, true}) {
        made.push_back({accumulator, Order::forward, 1, is_fused});
        made.push_back({accumulator, Order::backward, 1, is_fused});
        for (int lanes = 2; lanes <= 1024; lanes *= 2)
          made.push_back({accumulator, Order::lanes, lanes, is_fused});
      }
      made.push_back({accumulator, Order::blocks, 1, false});
    }
    return made;
  }();
  return all;
}

}  // namespace openaclnn_judge
