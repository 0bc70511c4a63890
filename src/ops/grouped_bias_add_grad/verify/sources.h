// The rows of gradY that each gradient of a bias is the sum of.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "ops/grouped_bias_add_grad/verify/oracle.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

// Facts of a call that the sources of all elements share.
struct BiasSourcesCall {
  const GoldenCall* call;
  BiasAttributes attributes;
  std::vector<int64_t> entries;  // of groupIdx
  int64_t columns, rows;         // of gradY as [rows, columns]
  int64_t rows_each;             // without groupIdx
  std::vector<BiasGroup> groups;

  explicit BiasSourcesCall(const GoldenCall& given) : call(&given) {
    attributes = recorded_bias_attributes(given.arguments);
    const Shape& dims = given.tensors[kBiasGradY].dims;
    columns = dims.back();
    rows = count_elements(std::span(dims).first(dims.size() - 1));
    rows_each = attributes.grouped ? 0 : dims[1];
    int64_t count = dims[0];
    if (attributes.grouped) {
      const Array& index = given.tensors[kBiasGroups];
      count = index.numel();
      for (int64_t j = 0; j < count; ++j) entries.push_back(whole_number_at(index, j));
    }
    groups = bias_groups(attributes, entries, count, rows_each);
  }
};

// `groups`: the rows of each group, which faults change. Rows outside gradY are left out.
inline FindSources bias_sources_of_groups(std::shared_ptr<const BiasSourcesCall> c,
                                          std::vector<BiasGroup> groups) {
  return [c, groups](const Place& place) {
    const auto j = static_cast<size_t>(place.element / c->columns);
    const int64_t column = place.element % c->columns;
    ElementSources found;
    if (j >= groups.size()) return found;
    const int64_t begin = std::clamp<int64_t>(groups[j].begin, 0, c->rows);
    const int64_t end = std::clamp<int64_t>(groups[j].end, begin, c->rows);
    const Array& grad = c->call->tensors[kBiasGradY];
    const auto value = [&](int64_t k) { return grad.get((begin + k) * c->columns + column); };
    const std::string place_text =
        c->attributes.grouped
            ? openaclnn::text("gradY[", run_text(begin, end), ", ", column, "]")
            : openaclnn::text("gradY[", j, ", ", run_text(0, c->rows_each), ", ", column, "]");
    found.lines.push_back(source_line(place_text, end - begin, value));
    if (c->attributes.grouped && j < c->entries.size()) {
      found.lines.push_back(openaclnn::text("groupIdxOptional[", j, "] = ", c->entries[j], ": rows ", begin,
                                            " to ", end, ", end excluded"));
    }
    if (end - begin > kMostTerms) return found;
    found.is_sum = true;
    for (int64_t k = 0; k < end - begin; ++k) found.terms.push_back({value(k)});
    return found;
  };
}

inline FindSources grouped_bias_add_grad_sources(const GoldenCall& call) {
  const auto c = std::make_shared<const BiasSourcesCall>(call);
  return bias_sources_of_groups(c, c->groups);
}

}  // namespace openaclnn_verify
