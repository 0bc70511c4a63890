// The attributes of GroupedBiasAddGrad and two references, based on its README: the exact sums with their
// error bounds, and the prescribed order of single roundings, one output element at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"
#include "verify/sum_order.h"

namespace openaclnn_verify {

struct BiasAttributes {
  bool grouped = true;     // with groupIdx
  int64_t index_type = 0;  // 0: ends, 1: sizes
};

inline BiasAttributes recorded_bias_attributes(const RecordedCall& call) {
  const auto type = call.integers.find("groupIdxType");  // the first version has none and uses ends
  return {call.tensors.contains("groupIdxOptional"), type != call.integers.end() ? type->second : 0};
}

// Tensors in the order of the signature. Without groupIdx, out is tensor 1.
inline constexpr size_t kBiasGradY = 0;
inline constexpr size_t kBiasGroups = 1;
inline size_t bias_out(const BiasAttributes& a) { return a.grouped ? 2 : 1; }

struct BiasGroup {
  int64_t begin, end;  // rows of gradY as [rows, H]
};

// Returns the groups of valid entries. `rows_each` is used without groupIdx.
inline std::vector<BiasGroup> bias_groups(const BiasAttributes& a, std::span<const int64_t> entries,
                                          int64_t groups, int64_t rows_each) {
  std::vector<BiasGroup> all;
  int64_t begin = 0;
  for (int64_t j = 0; j < groups; ++j) {
    const int64_t end = !a.grouped          ? begin + rows_each
                        : a.index_type == 0 ? entries[static_cast<size_t>(j)]
                                            : begin + entries[static_cast<size_t>(j)];
    all.push_back({begin, end});
    begin = end;
  }
  return all;
}

inline std::vector<BiasGroup> bias_groups(const BiasAttributes& a, const std::vector<HostTensor>& tensors) {
  const Shape& dims = tensors[kBiasGradY].dims();
  if (!a.grouped) return bias_groups(a, {}, dims[0], dims[1]);
  std::vector<int64_t> entries;
  const HostTensor& index = tensors[kBiasGroups];
  for (int64_t j = 0; j < index.numel(); ++j) entries.push_back(static_cast<int64_t>(index.get(j)));
  return bias_groups(a, entries, index.numel(), 0);
}

// |result - exact| <= ulp(result) / 2 + c * 2^-24 * (sum of the magnitudes) for n terms.
inline int64_t bias_bound(int64_t terms) { return terms <= 1 ? 0 : additions_on_path(terms) + 2; }

// The terms of out[group, column].
inline void bias_terms(const HostTensor& grad_y, const BiasGroup& group, int64_t column, int64_t columns,
                       std::vector<float>& terms) {
  terms.clear();
  for (int64_t row = group.begin; row < group.end; ++row) {
    terms.push_back(static_cast<float>(grad_y.get(row * columns + column)));
  }
}

inline JudgeResults bias_judge(const BiasAttributes& attributes) {
  return [attributes](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after,
                      Judge& judge) {
    const HostTensor& out = after[bias_out(attributes)];
    const int64_t columns = out.dims()[1];
    OutputRecord& record = judge.output("GroupedBiasAddGrad out", out.dtype());
    std::vector<float> terms;
    int64_t element = 0;
    for (const BiasGroup& group : bias_groups(attributes, before)) {
      for (int64_t column = 0; column < columns; ++column, ++element) {
        bias_terms(before[kBiasGradY], group, column, columns, terms);
        if (terms.empty()) {
          record.expect_bits(out.bits(element), 0);
          continue;
        }
        long double exact = 0, magnitude = 0;
        for (const long double term : terms) {
          exact += term;
          magnitude += std::fabs(term);
        }
        record.compare(out.get(element), exact, static_cast<long double>(bias_bound(group.end - group.begin)),
                       magnitude);
      }
    }
  };
}

}  // namespace openaclnn_verify
