// The terms of both gradients of token compression.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/nsa/compress_grad/verify/oracle.h"
#include "ops/nsa/verify/window_reading.h"

namespace openaclnn_verify {

inline WindowReading compress_grad_reading(const GoldenCall& call) {
  return make_reading(call, "actSeqLenOptionalOptional", call.tensors[kCgInput].dims,
                      call.tensors[kCgOutputGrad].dims[0]);
}

// The windows that include a token are next to each other: starts ascend.
inline ElementSources input_grad_sources(const GoldenCall& call, const WindowReading& r, int64_t element) {
  const int64_t row = element / r.columns, column = element % r.columns;
  const int64_t token = row / r.heads, head = row % r.heads;
  ElementSources found;
  const auto begin = std::ranges::lower_bound(r.starts, token - r.end + 1);
  const auto end = std::ranges::upper_bound(begin, r.starts.end(), token - r.first);
  const int64_t windows = end - begin, window = begin - r.starts.begin();
  const auto grad = [&](int64_t k) {
    return call.tensors[kCgOutputGrad].get(((window + k) * r.heads + head) * r.columns + column);
  };
  const auto weight = [&](int64_t k) {
    if (r.has_equal_weights) return 1.0;
    const int64_t i = token - begin[k];
    if (i < 0 || i >= r.block()) return 0.0;  // starts that follow from wrong lengths may not ascend
    return call.tensors[kCgWeight].get(r.weight_at(i, head));
  };
  if (windows == 0) {
    found.lines.push_back(openaclnn::text("token ", token, " is in no window"));
  } else {
    found.lines.push_back(source_line(
        openaclnn::text("outputGrad[", run_text(window, window + windows), ", ", head, ", ", column, "]"),
        windows, grad));
    found.lines.push_back(source_line(openaclnn::text("weight[token - start, ", head, "]"), windows, weight));
  }
  if (windows > kMostTerms) return found;
  found.is_sum = true;
  for (int64_t k = 0; k < windows; ++k) {
    if (r.has_gradient(window + k)) found.terms.push_back({weight(k), grad(k)});
  }
  return found;
}

// Token i of every window, times the gradient of the window, over all columns.
inline ElementSources weight_grad_sources(const GoldenCall& call, const WindowReading& r, int64_t element) {
  int64_t i = element / r.heads;
  const int64_t head = element % r.heads;
  const auto windows = static_cast<int64_t>(r.starts.size());
  const Array &grad = call.tensors[kCgOutputGrad], &input = call.tensors[kCgInput];
  ElementSources found;
  if (r.reverses_weights) i = r.block() - 1 - i;
  found.lines.push_back(source_line(
      openaclnn::text("outputGrad[", run_text(0, windows), ", ", head, ", ", run_text(0, r.columns), "]"),
      windows * r.columns,
      [&](int64_t k) { return grad.get((k / r.columns * r.heads + head) * r.columns + k % r.columns); }));
  const int64_t first = r.starts.empty() ? 0 : r.starts[0] + i;
  found.lines.push_back(openaclnn::text("input[", first, ", ", head, ", ", run_text(0, r.columns),
                                        "], and token ", i, " of the other windows"));
  if (windows * r.columns > kMostTerms) return found;
  found.is_sum = true;
  for (int64_t j = 0; j < windows; ++j) {
    const int64_t token = r.starts[static_cast<size_t>(j)] + i;
    if (token < 0 || token >= r.tokens || !r.has_gradient(j)) continue;
    for (int64_t e = 0; e < r.columns; ++e) {
      found.terms.push_back(
          {grad.get((j * r.heads + head) * r.columns + e), input.get(r.token_at(token, head, e))});
    }
  }
  return found;
}

inline FindSources compress_grad_sources(const GoldenCall& call, WindowReading reading) {
  const auto shared = std::make_shared<const WindowReading>(std::move(reading));
  return [&call, shared](const Place& place) {
    return place.parameter == kCompressGradNames[kCgInputGrad]
               ? input_grad_sources(call, *shared, place.element)
               : weight_grad_sources(call, *shared, place.element);
  };
}

inline FindSources nsa_compress_grad_sources(const GoldenCall& call) {
  return compress_grad_sources(call, compress_grad_reading(call));
}

}  // namespace openaclnn_verify
