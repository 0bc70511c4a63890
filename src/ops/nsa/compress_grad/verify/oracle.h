// References for NsaCompressGrad, based on its README: exact sums with their error bounds for both outputs,
// and the prescribed order of single roundings for the gradient of the tokens. The implementation chooses the
// order of weightGrad.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/nsa/verify/sums.h"
#include "ops/nsa/verify/windows.h"
#include "verify/case.h"
#include "verify/number.h"

namespace openaclnn_verify {

// Tensors in the order of the signature.
enum CompressGradTensor {
  kCgOutputGrad,
  kCgInput,
  kCgWeight,
  kCgInputGrad,
  kCgWeightGrad,
  kCompressGradTensors
};
inline constexpr const char* kCompressGradNames[kCompressGradTensors] = {"outputGrad", "input", "weight",
                                                                         "inputGradOut", "weightGradOut"};

// The windows of each token, ascending, with the row of the weights by which they multiply it.
struct TokenWindow {
  int64_t window, weight_row;
};
inline std::vector<std::vector<TokenWindow>> windows_of_tokens(const WindowAttributes& a, int64_t tokens) {
  std::vector<std::vector<TokenWindow>> of_token(static_cast<size_t>(tokens));
  const std::vector<int64_t> starts = window_starts(a, tokens);
  for (size_t j = 0; j < starts.size(); ++j) {
    for (int64_t i = 0; i < a.block_size; ++i) {
      of_token[static_cast<size_t>(starts[j] + i)].push_back({static_cast<int64_t>(j), i});
    }
  }
  return of_token;
}

// Calls visit(element of inputGrad, its terms) for every element, in row-major order.
template <class Visit>
void for_each_input_grad(const WindowAttributes& a, const std::vector<HostTensor>& tensors,
                         const Visit& visit) {
  const Shape& dims = tensors[kCgInput].dims();
  const int64_t heads = dims[1], columns = dims[2];
  std::vector<WeightedTerm> terms;
  int64_t element = 0;
  for (const std::vector<TokenWindow>& windows : windows_of_tokens(a, dims[0])) {
    for (int64_t n = 0; n < heads; ++n) {
      for (int64_t e = 0; e < columns; ++e) {
        terms.clear();
        for (const auto& [window, row] : windows) {
          const int64_t from = (window * heads + n) * columns + e;
          terms.push_back({static_cast<float>(tensors[kCgWeight].get(row * heads + n)),
                           static_cast<float>(tensors[kCgOutputGrad].get(from))});
        }
        visit(element++, terms);
      }
    }
  }
}

// The factors c of the error bounds: inputGrad with this many windows over the token, and weightGrad.
inline double input_grad_roundings(int64_t windows) { return static_cast<double>(windows + 1); }
inline constexpr double kWeightGradRoundings = 260;

inline uint64_t prescribed_input_grad(aclDataType dtype, const std::vector<WeightedTerm>& terms) {
  float sum = 0;
  for (const WeightedTerm& term : terms) sum = term.added_to(sum);
  return encode(dtype, static_cast<double>(sum));
}

// The exact sum and the sum of the magnitudes of weightGrad[i, n].
inline std::vector<ExactSum> exact_weight_grad(const WindowAttributes& a,
                                               const std::vector<HostTensor>& tensors) {
  const Shape& dims = tensors[kCgInput].dims();
  const int64_t heads = dims[1], columns = dims[2];
  std::vector<ExactSum> sums(static_cast<size_t>(a.block_size * heads));
  const std::vector<int64_t> starts = window_starts(a, dims[0]);
  for (size_t j = 0; j < starts.size(); ++j) {
    for (int64_t i = 0; i < a.block_size; ++i) {
      for (int64_t n = 0; n < heads; ++n) {
        ExactSum& sum = sums[static_cast<size_t>(i * heads + n)];
        const int64_t grad_row = static_cast<int64_t>(j) * heads + n, token_row = (starts[j] + i) * heads + n;
        for (int64_t e = 0; e < columns; ++e) {
          sum.add(tensors[kCgOutputGrad].get(grad_row * columns + e),
                  tensors[kCgInput].get(token_row * columns + e));
        }
      }
    }
  }
  return sums;
}

inline JudgeResults compress_grad_judge(const WindowAttributes& given) {
  return [given](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    const HostTensor &input_grad = after[kCgInputGrad], &weight_grad = after[kCgWeightGrad];
    const WindowAttributes attributes =
        with_fitting_batches(given, before[kCgInput].dims()[0], before[kCgOutputGrad].dims()[0]);
    OutputRecord& inputs = judge.output("NsaCompressGrad inputGradOut", input_grad.dtype());
    for_each_input_grad(attributes, before, [&](int64_t element, const std::vector<WeightedTerm>& terms) {
      if (terms.empty()) return inputs.expect_bits(input_grad.bits(element), 0);
      const ExactSum exact = exact_sum(terms);
      inputs.compare(input_grad.get(element), exact.value,
                     input_grad_roundings(static_cast<int64_t>(terms.size())), exact.magnitude);
    });
    OutputRecord& weights = judge.output("NsaCompressGrad weightGradOut", weight_grad.dtype());
    int64_t element = 0;
    for (const ExactSum& exact : exact_weight_grad(attributes, before)) {
      weights.compare(weight_grad.get(element++), exact.value, kWeightGradRoundings, exact.magnitude);
    }
  };
}

}  // namespace openaclnn_verify
