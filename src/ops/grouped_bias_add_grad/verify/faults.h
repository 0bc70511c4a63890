// Faults that kernels of GroupedBiasAddGrad have: wrong borders of groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/grouped_bias_add_grad/verify/sources.h"

namespace openaclnn_verify {

inline std::vector<Fault> grouped_bias_add_grad_faults(const GoldenCall& call) {
  const auto c = std::make_shared<const BiasSourcesCall>(call);
  std::vector<Fault> faults;
  const auto add = [&](const char* name, std::string text, std::vector<BiasGroup> groups) {
    faults.push_back(fault_of_terms(name, std::move(text), bias_sources_of_groups(c, std::move(groups))));
  };
  // Moves the borders of every group by these numbers of rows.
  const auto moved = [&](int64_t begin, int64_t end) {
    std::vector<BiasGroup> groups = c->groups;
    for (BiasGroup& group : groups) group = {group.begin + begin, group.end + end};
    return groups;
  };
  if (c->attributes.grouped) {
    BiasAttributes other = c->attributes;
    other.index_type = 1 - other.index_type;
    const bool are_ends = c->attributes.index_type == 0;
    add("group-index-type",
        are_ends ? "The device reads groupIdx as sizes of groups. With groupIdxType 0 the entries are ends."
                 : "The device reads groupIdx as ends of groups. With groupIdxType 1 the entries are sizes.",
        bias_groups(other, c->entries, static_cast<int64_t>(c->entries.size()), 0));
    std::vector<BiasGroup> next(c->groups.begin() + (c->groups.empty() ? 0 : 1), c->groups.end());
    next.push_back({c->rows, c->rows});
    add("groups-shifted-by-one",
        "Each result is the sum of the next group. Group j begins at the end of group j - 1, not at its own "
        "end.",
        next);
    std::vector<BiasGroup> previous = c->groups;
    if (!previous.empty()) previous.pop_back();
    previous.insert(previous.begin(), {0, 0});
    add("groups-shifted-by-one",
        "Each result is the sum of the group before it. Check the index of the group.", previous);
  }
  if (c->attributes.grouped && c->attributes.index_type == 0) {
    std::vector<BiasGroup> included = moved(1, 1);
    if (!included.empty()) included[0].begin = 0;
    add("group-ends-included",
        "Each group includes the row that its entry of groupIdx names. The entries are ends, which are "
        "excluded.",
        std::move(included));
  }
  std::vector<BiasGroup> prefixes = c->groups;
  for (BiasGroup& group : prefixes) group.begin = 0;
  add("groups-cumulative",
      "Each result is the sum of all rows up to the end of its group. Start every group with an accumulator "
      "of 0.",
      prefixes);
  add("rows-shifted-by-one", "Each group begins and ends one row too late. Check the first row of the loop.",
      moved(1, 1));
  add("rows-shifted-by-one", "Each group begins and ends one row too early. Check the first row of the loop.",
      moved(-1, -1));
  add("last-row-missing",
      "The last row of each group is missing. The loop must run up to the end of the group.", moved(0, -1));
  add("first-row-missing",
      "The first row of each group is missing. The loop must begin at the end of the group before.",
      moved(1, 0));
  add("row-too-many", "Each group includes the first row of the next one. The end of a group is excluded.",
      moved(0, 1));
  return faults;
}

}  // namespace openaclnn_verify
