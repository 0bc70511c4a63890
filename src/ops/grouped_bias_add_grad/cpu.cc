// GroupedBiasAddGrad on the CPU: divides the rows into the superblocks of the order of additions. Threads
// process equal stretches of superblocks, for any group sizes, and share the columns of few superblocks. A second
// step adds the sums of superblocks of the same group.
#include <algorithm>

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/superblocks.h"
#include "cpu/threads.h"
#include "cpu/zeros.h"
#include "ops/grouped_bias_add_grad/plan.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// First and past-the-end row of each group.
struct Groups {
  const GroupedBiasPlan& plan;
  const int64_t* ends;  // nullptr: each group has plan.rows_per_group rows

  int64_t end(int64_t group) const {
    return ends != nullptr ? ends[group] : (group + 1) * plan.rows_per_group;
  }
  int64_t begin(int64_t group) const { return group > 0 ? end(group - 1) : 0; }
};

// Reads groupIdx once, checks it and stores the group ends in the workspace. Later changes to groupIdx by
// other threads therefore cannot cause an out-of-bounds access.
template <class Index>
Fault read_ends(const GroupedBiasPlan& plan, const Index* group_index, int64_t* ends) {
  Fault fault;
  fault.total = plan.groups;
  const bool as_sizes = plan.group_index_type == kGroupSizes;
  int64_t end = 0;       // of this group: the running sum of the sizes, or the entry itself
  int64_t previous = 0;  // the previous entry
  for (int64_t j = 0; j < plan.groups; ++j) {
    const int64_t entry = static_cast<int64_t>(group_index[j * plan.index_stride]);
    const bool decreases = !as_sizes && j > 0 && entry < previous;
    if (!as_sizes) {
      end = entry;
    } else if (entry > 0) {
      end = entry > INT64_MAX - end ? INT64_MAX : end + entry;
    }
    if (entry < 0 || decreases || end > plan.rows) {
      if (fault.count++ == 0) {
        fault.position = j;
        fault.value = entry;
        fault.limit = decreases ? previous : plan.rows;
        fault.kind = decreases   ? kEntryDecreases
                     : entry < 0 ? kEntryNegative
                     : as_sizes  ? kSizesBeyondRows
                                 : kEndBeyondRows;
      }
    }
    ends[j] = end;
    previous = entry;
  }
  return fault;
}

template <class T>
struct BiasGradient {
  const GroupedBiasPlan& plan;
  const Groups& groups;
  const T* grad;
  T* out;
  SuperblockSums superblocks;

  const T* row(int64_t group, int64_t row) const {
    const int64_t in_group = plan.has_group_index ? row : row - group * plan.rows_per_group;
    return grad + group * plan.group_stride + in_group * plan.row_stride;
  }

  // Returns the number of rows from `begin` on at distance row_stride, in any group.
  int64_t readable_rows(int64_t group, int64_t begin) const {
    return (plan.has_group_index ? plan.rows : groups.end(group)) - begin;
  }

  // Sums some columns of the rows [begin, end) of a group: into out if they are the whole group, otherwise into
  // the superblock's slot.
  void sum_superblock(int64_t group, int64_t begin, int64_t end, cpu::Range columns,
                      RowAccumulators& accumulators) const {
    const bool whole = begin == groups.begin(group) && end == groups.end(group);
    const int64_t most = tile_columns(columns.end - columns.begin);
    for (int64_t first = columns.begin; first < columns.end; first += most) {
      const int64_t width = std::min(columns.end - first, most);
      const T* const first_row = row(group, begin) + first * plan.column_stride;
      const Rows rows{end - begin, readable_rows(group, begin),
                      [&](int64_t k) { return first_row + k * plan.row_stride; }, plan.row_stride};
      const auto sum = [&]<class Out>(Out* target, int64_t target_stride) {
        sum_strided_rows<T>(rows, plan.column_stride, width, accumulators,
                            SumTarget<Out>{target, F32(1.0f), false}, target_stride);
      };
      if (whole) {
        sum(out + group * plan.out_row_stride + first * plan.out_column_stride, plan.out_column_stride);
      } else {
        sum(superblocks.of(begin, end) + first, 1);
      }
    }
  }

  // Adds the superblock sums of columns [first, first + width) of a long group.
  void join_superblocks(int64_t group, int64_t first, int64_t width) const {
    T* const target = out + group * plan.out_row_stride + first * plan.out_column_stride;
    superblocks.join({groups.begin(group), groups.end(group)}, first, width,
                     SumTarget<T>{target, F32(1.0f), false}, plan.out_column_stride);
  }
};

// A superblock, identified by its group and its number in the group.
struct SuperblockPosition {
  int64_t group;
  int64_t superblock;
};

int64_t superblocks_of(const Groups& groups, int64_t group) {
  const int64_t rows = groups.end(group) - groups.begin(group);
  return rows > kSuperblockTerms ? (rows + kSuperblockTerms - 1) / kSuperblockTerms
                                 : 1;  // an empty group also writes its row
}

// Returns the first superblock that starts at `cost` or later. A row costs 1, and an output row costs 1.
// Stretches of equal cost then take equal time, both for one huge group and for a million empty ones.
SuperblockPosition first_superblock_at(const Groups& groups, int64_t cost) {
  const auto cost_of = [&](int64_t group) { return groups.begin(group) + group; };
  const int64_t next =
      first_where(0, groups.plan.groups, [&](int64_t group) { return cost_of(group) >= cost; });
  if (next == 0) return {0, 0};
  const int64_t before = next - 1;
  const int64_t superblock = (cost - cost_of(before) + kSuperblockTerms - 1) / kSuperblockTerms;
  if (superblock < superblocks_of(groups, before)) return {before, superblock};
  return {next, 0};
}

// Returns the number of superblocks, or `most` if there are more.
int64_t superblocks_up_to(const Groups& groups, int64_t most) {
  int64_t count = 0;
  for (int64_t group = 0; group < groups.plan.groups && count < most; ++group)
    count += superblocks_of(groups, group);
  return std::min(count, most);
}

template <class T>
void sum_groups(const BiasGradient<T>& bias, const Groups& groups, int64_t* long_groups) {
  const GroupedBiasPlan& plan = bias.plan;
  const int64_t last_end = groups.end(plan.groups - 1);
  const int64_t bytes = (last_end + plan.groups) * plan.columns * static_cast<int64_t>(sizeof(T));
  const int64_t total_cost = last_end + plan.groups;
  const int64_t parts = cpu::chunks_for(bytes);
  const int64_t threads = std::min<int64_t>(parts, cpu::num_threads());
  const int64_t column_parts = ceil_div(threads, superblocks_up_to(groups, threads));
  constexpr int64_t kColumnGrain = 64;  // at least whole cache lines
  cpu::parallel_for(parts * column_parts, [&](int64_t item) {
    const int64_t part = item % parts;  // parts without a superblock are those of all columns
    const cpu::Range cost = cpu::chunk_range(total_cost, parts, part, 1);
    const cpu::Range columns = cpu::chunk_range(plan.columns, column_parts, item / parts, kColumnGrain);
    if (columns.begin >= columns.end) return;
    RowAccumulators& accumulators = cpu::scratch_as<RowAccumulators>();
    SuperblockPosition at = first_superblock_at(groups, cost.begin);
    const SuperblockPosition stop =
        part + 1 < parts ? first_superblock_at(groups, cost.end) : SuperblockPosition{plan.groups, 0};
    while (at.group < stop.group || (at.group == stop.group && at.superblock < stop.superblock)) {
      const int64_t begin = groups.begin(at.group) + at.superblock * kSuperblockTerms;
      const int64_t group_end = groups.end(at.group);
      bias.sum_superblock(at.group, begin,
                          begin + kSuperblockTerms < group_end ? begin + kSuperblockTerms : group_end,
                          columns, accumulators);
      if (++at.superblock == superblocks_of(groups, at.group)) at = {at.group + 1, 0};
    }
  });
  if (plan.scratch.superblock_slots == 0) return;

  int64_t long_count = 0;
  for (int64_t group = 0; group < plan.groups; ++group) {
    if (superblocks_of(groups, group) > 1) long_groups[long_count++] = group;
  }
  for_each_long_sum(long_count, plan.columns, [&](int64_t k, int64_t first, int64_t width) {
    bias.join_superblocks(long_groups[k], first, width);
  });
}

template <class T>
Fault run(const GroupedBiasPlan& plan, const TaskIo& io) {
  T* const out = plan_tensor<T>(plan, io, kGroupedOut);
  if (plan.rows == 0) {  // every sum is empty
    write_zeros(plan.out_nest, out);
    return {};
  }
  int64_t* const ends = plan.has_group_index ? workspace_part<int64_t>(io, plan.scratch.ends) : nullptr;
  if (ends != nullptr) {
    Fault fault = plan.index_dtype == ACL_INT32
                      ? read_ends(plan, plan_tensor<const int32_t>(plan, io, kGroupedIndex), ends)
                      : read_ends(plan, plan_tensor<const int64_t>(plan, io, kGroupedIndex), ends);
    if (!fault.found() && io.check == CheckMode::strict && ends[plan.groups - 1] < plan.rows) {
      fault.count = 1;
      fault.position = plan.groups - 1;
      fault.value = ends[plan.groups - 1];
      fault.limit = plan.rows;
      fault.kind = kRowsLeft;
    }
    if (fault.found()) return fault;
  }
  const Groups groups = {plan, ends};
  const T* const grad = plan_tensor<const T>(plan, io, kGroupedGradY);
  const SuperblockSums superblocks = {workspace_part<float>(io, plan.scratch.superblock_sums), plan.columns};
  sum_groups(BiasGradient<T>{plan, groups, grad, out, superblocks}, groups,
             workspace_part<int64_t>(io, plan.scratch.long_groups));
  return {};
}

}  // namespace

Fault run_grouped_bias_add_grad(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const GroupedBiasPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return run<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
