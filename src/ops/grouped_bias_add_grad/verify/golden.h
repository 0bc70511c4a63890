// The golden of GroupedBiasAddGrad: the exact sums of the rows of each group.
#pragma once

#include <string>
#include <vector>

#include "ops/grouped_bias_add_grad/verify/oracle.h"
#include "verify/dtypes.h"
#include "verify/golden/arguments.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

// Returns the end of each group in rows, with a 0 before them.
inline std::vector<int64_t> bias_ends(const BiasAttributes& a, const Array& groups, int64_t rows) {
  std::vector<int64_t> ends = {0};
  for (int64_t j = 0; j < groups.numel(); ++j) {
    const int64_t entry = integer_at(groups, j), before = ends.back();
    const std::string name = "groupIdxOptional[" + std::to_string(j) + "] = " + std::to_string(entry);
    if (entry < 0) reject(name + " is negative");
    if (a.index_type == 0 && entry < before) {
      reject(name + " is below groupIdxOptional[" + std::to_string(j - 1) + "] = " + std::to_string(before) +
             "; group ends must not decrease");
    }
    if (entry > (a.index_type == 0 ? rows : rows - before))
      reject(name + " is a group that ends after the last row of gradY, which has " + std::to_string(rows));
    ends.push_back(a.index_type == 0 ? entry : before + entry);
  }
  return ends;
}

inline Golden grouped_bias_add_grad_golden(const GoldenCall& call) {
  constexpr const char* kNames[] = {"gradY", "groupIdxOptional", "out"};
  const GivenTensors given(call, kNames);
  const BiasAttributes a = recorded_bias_attributes(call.arguments);
  if (a.index_type != 0 && a.index_type != 1)
    reject("groupIdxType is " + std::to_string(a.index_type) + "; it must be 0 or 1");
  const Array& grad_y = given.read("gradY", kFloatDtypes);
  require_rank("gradY", grad_y, a.grouped ? 2 : 3);
  const int64_t columns = grad_y.dims.back();
  std::vector<int64_t> ends;
  if (a.grouped) {
    const Array& groups = given.read("groupIdxOptional", kIndexDtypes);
    require_rank("groupIdxOptional", groups, 1);
    require_dims("out", given.shape_of("out"), {groups.dims[0], columns});
    // Without elements of gradY, the groups are not read.
    ends = grad_y.numel() > 0 ? bias_ends(a, groups, grad_y.dims[0])
                              : std::vector<int64_t>(static_cast<size_t>(groups.dims[0] + 1));
  } else {
    require_dims("out", given.shape_of("out"), {grad_y.dims[0], columns});
    for (int64_t group = 0; group <= grad_y.dims[0]; ++group) ends.push_back(group * grad_y.dims[1]);
  }

  GoldenOutput out = new_output("out", given.shape_of("out"));
  const auto begin = [&](int64_t group) { return ends[static_cast<size_t>(group)]; };
  RowSums sums;
  sums.values = &grad_y;
  sums.columns = columns;
  sums.groups = static_cast<int64_t>(ends.size()) - 1;
  sums.count = [&](int64_t group) { return begin(group + 1) - begin(group); };
  sums.terms = [&](int64_t group, int64_t first, std::span<RowTerm> to) {
    for (RowTerm& term : to) term = {begin(group) + first++, 0};
  };
  sums.finish = [&](int64_t group, int64_t first_column, const SumTile& tile) {
    const auto c = static_cast<double>(bias_bound(sums.count(group)));
    write_sums(tile, c, out, group * columns + first_column);
  };
  sum_rows(sums, call.threads);
  return golden_with(std::move(out));
}

}  // namespace openaclnn_verify
