// GroupedBiasAddGrad: the rows read once; the sums that are written are few.
#include <numeric>

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

enum { kGradY, kGroupIdx, kOut };

// Group ends of `groups` groups over `rows` rows.
std::vector<int64_t> group_ends(const std::string& variant, int64_t rows, int64_t groups) {
  std::vector<int64_t> ends(static_cast<size_t>(groups));
  for (int64_t j = 0; j < groups; ++j) {
    int64_t end = rows * (j + 1) / groups;
    if (variant == "one_giant") end = j < groups / 2 ? 0 : rows;  // all others are empty
    if (variant == "skewed")
      end = j + 1 == groups ? rows : rows - (rows >> (j + 1 < 40 ? j + 1 : 40));  // halves
    ends[static_cast<size_t>(j)] = end;
  }
  return ends;
}

class GroupedBias final : public Workload {
 public:
  explicit GroupedBias(const Description& description) : Workload(description) {
    tensor(kGradY).fill(-1, 1);
    const TensorSpec& grad = description.tensors[kGradY];
    const TensorSpec& ends = description.tensors[kGroupIdx];
    tensor(kGroupIdx).fill_integers(group_ends(description.variant, grad.dims[0], ends.dims[0]));
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnGroupedBiasAddGradGetWorkspaceSize(handle(kGradY), handle(kGroupIdx), handle(kOut),
                                                         bytes, executor);
        },
        aclnnGroupedBiasAddGrad);
  }

  double run_reference(Team& team, int calls) override {
    return team.run(calls, [&](int thread) {
      const Part part = part_of(tensor(kGradY).bytes(), thread, team.threads());
      seen_[static_cast<size_t>(thread) * 8] +=
          traffic_kernels().read(tensor(kGradY).data() + part.begin, part.bytes);
    });
  }

 private:
  Caller caller_;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(8 * 1024);
};

}  // namespace

std::vector<Entry> grouped_bias_workloads() {
  std::vector<Entry> entries;
  const auto add = [&](const char* dtype, const char* size, const char* variant, int64_t rows,
                       int64_t columns, int64_t groups) {
    const int64_t bytes = (rows + groups) * columns * element_bytes(dtype);
    Description d{
        "GroupedBiasAddGrad",
        dtype,
        size,
        variant,
        {{"rows", rows}, {"columns", columns}, {"groups", groups}},
        {{"gradY", {rows, columns}, dtype}, {"groupIdx", {groups}, "i64"}, {"out", {groups, columns}, dtype}},
        "read",
        bytes};
    entries.push_back({d, [](const Description& self) { return std::make_unique<GroupedBias>(self); }});
  };
  for (const char* dtype : kFloatTypes) {
    const int64_t wide = 4 / element_bytes(dtype);
    add(dtype, "L1", "uniform", 16 * wide, 256, 4);
    add(dtype, "L2", "uniform", 256 * wide, 512, 8);
    for (const char* variant : {"uniform", "skewed", "one_giant"})
      add(dtype, "memory", variant, 32768 * wide, 2048, 64);
    add(dtype, "memory", "many_small", 32768 * wide, 2048, 2048);
    add(dtype, "memory", "wide", 8192 * wide, 7168, 32);
    add(dtype, "memory", "narrow", 2097152 * wide, 32, 64);
  }
  return entries;
}

}  // namespace openaclnn_bench
