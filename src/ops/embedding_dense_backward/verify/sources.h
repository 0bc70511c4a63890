// The positions whose gradients each row of out is the sum of.
#pragma once

#include <memory>
#include <vector>

#include "base/text.h"
#include "ops/embedding_dense_backward/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

// How a kernel reads the indices; faults change it.
struct BackwardReading {
  const GoldenCall* call;
  BackwardAttributes attributes;
  Occurrences found;

  // row_at(n): the row of position n; a number outside the table: none.
  template <class RowAt>
  BackwardReading(const GoldenCall& given, const BackwardAttributes& a, const RowAt& row_at)
      : call(&given), attributes(a) {
    found = find_occurrences(a, given.tensors[kIndices].numel(),
                             [&](int64_t n) { return std::optional<int64_t>(row_at(n)); });
  }
};

inline FindSources backward_sources(std::shared_ptr<const BackwardReading> reading) {
  return [reading](const Place& place) {
    const Array& grad = reading->call->tensors[kGrad];
    const int64_t columns = grad.dims.back();
    const int64_t row = place.element / columns, column = place.element % columns;
    const std::vector<int64_t>& positions = reading->found.of_row[static_cast<size_t>(row)];
    const auto count = static_cast<int64_t>(positions.size());
    const auto position = [&](int64_t k) { return positions[static_cast<size_t>(k)]; };
    const auto value = [&](int64_t k) { return grad.get(position(k) * columns + column); };
    ElementSources found;
    found.lines.push_back(source_line(openaclnn::text("positions of index ", row), count,
                                      [&](int64_t k) { return static_cast<double>(position(k)); }));
    found.lines.push_back(source_line(openaclnn::text("grad[these positions, ", column, "]"), count, value));
    if (count > kMostTerms) return found;
    found.is_sum = true;
    for (int64_t k = 0; k < count; ++k) found.terms.push_back({value(k)});
    if (reading->attributes.scale && count > 0) found.divisor = static_cast<double>(count);
    return found;
  };
}

inline FindSources embedding_dense_backward_sources(const GoldenCall& call) {
  const auto row_at = [&](int64_t n) { return whole_number_at(call.tensors[kIndices], n); };
  return backward_sources(
      std::make_shared<const BackwardReading>(call, recorded_backward_attributes(call.arguments), row_at));
}

}  // namespace openaclnn_verify
