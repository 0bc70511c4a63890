// GroupedBiasAddGrad: the rows read once; the sums that are written are few.
#include "ops/grouped_bias_add_grad/verify/cases.h"

#include "references.h"
#include "sizes.h"

namespace openaclnn_bench {

namespace {

class GroupedBias final : public Workload {
 public:
  using Workload::Workload;
  double run_reference(Team& team, int calls) override {
    return run_read(team, calls, tensor(openaclnn_verify::kBiasGradY));
  }
  double run_arithmetic(Team& team, int calls) override {
    const Tensor& rows = tensor(openaclnn_verify::kBiasGradY);
    return run_arithmetic_sum(team, calls, rows.dtype(), rows);
  }
};

// `groups` groups of `rows` rows together.
std::vector<int64_t> group_sizes(const std::string& variant, int64_t rows, int64_t groups) {
  std::vector<int64_t> sizes;
  int64_t begin = 0;
  for (int64_t j = 0; j < groups; ++j) {
    int64_t end = rows * (j + 1) / groups;
    if (variant == "one_giant") end = j < groups / 2 ? 0 : rows;  // all others are empty
    if (variant == "skewed")
      end = j + 1 == groups ? rows : rows - (rows >> (j + 1 < 40 ? j + 1 : 40));  // halves
    sizes.push_back(end - begin);
    begin = end;
  }
  return sizes;
}

}  // namespace

std::vector<Entry> grouped_bias_add_grad_workloads() {
  std::vector<Entry> entries;
  for (const FloatType& type : kFloatTypes) {
    const auto add = [&](const char* size, const std::string& variant, int64_t rows_of_floats,
                         int64_t columns, int64_t groups) {
      const int64_t rows = rows_of_floats * type.wide();
      entries.push_back(entry<GroupedBias>(
          {"GroupedBiasAddGrad",
           type.name,
           size,
           variant,
           {{"rows", rows}, {"columns", columns}, {"groups", groups}},
           bias_case(type.dtype, ACL_INT64, {}, {group_sizes(variant, rows, groups), columns},
                     openaclnn_verify::Layout::contiguous, variant),
           "read"}));
    };
    add("L1", "uniform", 16, 256, 4);
    add("L2", "uniform", 256, 512, 8);
    add("L2", "many_small", 64, 2048, 4);
    add("L2", "wide", 16, 7168, 1);
    add("L2", "narrow", 4096, 32, 1);
    for (const char* variant : {"uniform", "skewed", "one_giant"}) add("memory", variant, 32768, 2048, 64);
    add("memory", "many_small", 32768, 2048, 2048);
    add("memory", "wide", 8192, 7168, 32);
    add("memory", "narrow", 2097152, 32, 64);
    for (const int64_t groups : growing_counts(1, 30'000))
      add(kGrowth, std::to_string(groups), 32768, 2048, groups);
  }
  return entries;
}

}  // namespace openaclnn_bench
