// Sums of products in the oracles of token compression, exact and in the prescribed order, and the cases that
// measure their errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"
#include "verify/sum_order.h"

namespace openaclnn_verify {

// A term of a sum: a weight times a token, or times a token's gradient.
struct WeightedTerm {
  float weight, value;

  // Returns sum + weight * value, rounded once.
  float added_to(float sum) const { return std::fma(weight, value, sum); }
};

// The sum of products, and S of the error bound. A product below the normal floats counts as the smallest of
// them: it may lose up to 2^-150 when it is added.
struct ExactSum {
  long double value = 0, magnitude = 0;

  void add(double one, double other) {
    const long double product = static_cast<long double>(one) * other;
    value += product;
    if (product != 0) magnitude += std::max(std::fabs(product), 0x1p-126L);
  }
};
inline ExactSum exact_sum(const std::vector<WeightedTerm>& terms) {
  ExactSum sum;
  for (const WeightedTerm& term : terms)
    sum.add(static_cast<double>(term.weight), static_cast<double>(term.value));
  return sum;
}

// Returns the bits of a compressed window, and the factor c of its error bound.
inline uint64_t prescribed_compressed(aclDataType dtype, const std::vector<WeightedTerm>& terms) {
  const auto add_term = [](float block, const WeightedTerm& term) { return term.added_to(block); };
  return encode(dtype, static_cast<double>(prescribed_sum(std::span<const WeightedTerm>(terms), add_term)));
}
inline long double roundings_of_compressed(int64_t block_size) {
  return static_cast<long double>(additions_on_path(block_size) + 3);
}

// Returns the case with inputs of magnitudes from 2^-120 to 2^high. Products below 2^-150 underflow, and a
// fused sum of them is +0 or -0. With high 0 this is a fourth of the products, with high -90 all of them.
inline Case with_underflow(Case made, int64_t high = 0) {
  for (TensorCase& tensor : made.tensors) {
    if (tensor.role != Role::input || tensor.values != Values::symmetric) continue;
    tensor.low = -120;
    tensor.high = high;
  }
  return made;
}
inline constexpr aclDataType kUnderflowDtypes[] = {ACL_FLOAT, ACL_BF16};  // FLOAT16 has no such numbers

// For measuring errors: cases of each kind of sum and dtype with at least share * elements results, and at
// least three. The data of the first input changes with every case, that of the second with every second
// case, and so on.
template <class Kinds, class Results, class Make>
std::vector<Case> sum_cases(const Kinds& kinds, int64_t elements, const Results& results, const Make& make,
                            std::initializer_list<size_t> inputs) {
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const auto& kind : kinds) {
      const double wanted = static_cast<double>(elements) * kind.share;
      const auto repeats = static_cast<int64_t>(wanted / static_cast<double>(results(kind))) + 1;
      for (int64_t n = 0; n < std::max<int64_t>(repeats, 3); ++n) {
        cases.push_back(
            make(dtype, kind, std::string(dtype_name(dtype)) + " " + kind.name + " " + std::to_string(n)));
        int64_t place = 0;
        for (const size_t input : inputs) set_sum_data(cases.back().tensors[input], n / ++place);
      }
    }
  }
  return cases;
}

}  // namespace openaclnn_verify
