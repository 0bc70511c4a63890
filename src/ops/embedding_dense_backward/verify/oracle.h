// The attributes of EmbeddingDenseBackward and two references, based on its README: the exact sums with their
// error bounds, and the prescribed order of single roundings, one output element at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"
#include "verify/sum_order.h"

namespace openaclnn_verify {

struct BackwardAttributes {
  int64_t table_rows = 0;    // numWeights
  int64_t padding_row = -1;  // paddingIdx
  bool scale = false;        // scaleGradByFreq
};

inline BackwardAttributes recorded_backward_attributes(const RecordedCall& call) {
  const auto& numbers = call.integers;
  return {numbers.at("numWeights"), numbers.at("paddingIdx"), numbers.at("scaleGradByFreq") != 0};
}

// The tensors in the order of the signature.
enum BackwardTensor { kGrad, kIndices, kOut, kBackwardTensors };
inline constexpr const char* kBackwardNames[kBackwardTensors] = {"grad", "indices", "out"};

// Returns an index element as a whole number; nullopt for NaN, infinities and values beyond int64.
inline std::optional<int64_t> index_number(aclDataType dtype, uint64_t bits) {
  if (float_format(dtype) != nullptr) {
    const double number = std::trunc(decode(dtype, bits));
    if (!(number > -0x1p63 && number < 0x1p63)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  switch (dtype) {
    case ACL_BOOL: return bits != 0 ? 1 : 0;
    case ACL_INT64: return static_cast<int64_t>(bits);
    default: return static_cast<int64_t>(decode(dtype, bits));  // at most 32 bits: exact in double
  }
}

// Returns the prescribed bits of one output element. A row without terms gets +0 without a division by zero.
inline uint64_t prescribed_bits(aclDataType out_dtype, std::span<const float> terms, bool scale) {
  if (terms.empty()) return 0;
  float result = prescribed_sum(terms);
  if (scale) {
    const float factor = 1.0f / static_cast<float>(terms.size());
    result *= factor;
  }
  return encode(out_dtype, static_cast<double>(result));
}

// Groups positions by row, and collects those without a row.
struct Occurrences {
  std::vector<std::vector<int64_t>> of_row;  // ascending positions
  int64_t out_of_range = 0;
  int64_t first_out_of_range = -1;
};

template <class IndexAt>  // IndexAt(n): the optional number at position n
Occurrences find_occurrences(const BackwardAttributes& a, int64_t positions, const IndexAt& index_at) {
  Occurrences found;
  found.of_row.resize(static_cast<size_t>(a.table_rows));
  for (int64_t n = 0; n < positions; ++n) {
    const std::optional<int64_t> row = index_at(n);
    if (!row || *row < 0 || *row >= a.table_rows) {
      if (found.out_of_range++ == 0) found.first_out_of_range = n;
    } else if (*row != a.padding_row) {
      found.of_row[static_cast<size_t>(*row)].push_back(n);
    }
  }
  return found;
}

// The exact result, and the sum of magnitudes that bounds its error. long double represents the sums of the
// tests exactly.
struct ExactElement {
  long double value = 0, magnitude = 0;
};
inline ExactElement exact_element(std::span<const float> terms, bool scale) {
  ExactElement exact;
  for (const long double term : terms) {
    exact.value += term;
    exact.magnitude += std::fabs(term);
  }
  if (scale && !terms.empty()) {
    exact.value /= static_cast<long double>(terms.size());
    exact.magnitude /= static_cast<long double>(terms.size());
  }
  return exact;
}

// result - reference| <= ulp(result) / 2 + c * 2^-24 * (sum of the magnitudes of n terms, divided by n if scaled).
inline int64_t backward_bound(int64_t terms, bool scaled) {
  if (scaled) return additions_on_path(terms) + 5;
  return terms <= 1 ? 0 : additions_on_path(terms) + 2;
}

inline JudgeResults backward_judge(const BackwardAttributes& attributes) {
  return [attributes](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                      Judge& judge) {
    const HostTensor &grad = before[kGrad], &indices = before[kIndices], &out = after[kOut];
    const Occurrences found = find_occurrences(attributes, indices.numel(), [&](int64_t n) {
      return index_number(indices.dtype(), indices.bits(n));
    });
    OutputRecord& record =
        judge.output(std::string("EmbeddingDenseBackward out, ") +
                         (attributes.scale ? "scaled, " : "sums, ") + "grad " + dtype_name(grad.dtype()),
                     out.dtype());
    std::vector<float> terms;
    int64_t element = 0;
    for (const std::vector<int64_t>& positions : found.of_row) {
      const auto count = static_cast<int64_t>(positions.size());
      for (int64_t column = 0; column < out.dims()[1]; ++column, ++element) {
        if (count == 0) {
          record.expect_bits(out.bits(element), 0);
          continue;
        }
        terms.clear();
        for (const int64_t n : positions) {
          terms.push_back(static_cast<float>(grad.get(n * out.dims()[1] + column)));
        }
        const ExactElement exact = exact_element(terms, attributes.scale);
        const auto c = static_cast<long double>(backward_bound(count, attributes.scale));
        record.compare(out.get(element), exact.value, c, exact.magnitude);
      }
    }
  };
}

}  // namespace openaclnn_verify
