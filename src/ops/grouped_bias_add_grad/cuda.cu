// GroupedBiasAddGrad on a GPU: one block checks the groups, and stores their ends and a list of superblocks in
// the workspace. The rows are then summed for any group sizes (cuda/row_units.cuh, cuda/rows.cuh).
#include "base/plan_tensor.h"
#include "base/search.h"
#include "base/storage_types.h"
#include "cuda/fault_scan.cuh"
#include "cuda/loops.cuh"
#include "cuda/row_units.cuh"
#include "cuda/rows.cuh"
#include "ops/grouped_bias_add_grad/plan.h"
#include "ops/launches.h"

namespace openaclnn::cuda {

namespace {

// Adds numbers of at least 0; sums that are too large saturate.
__device__ __forceinline__ int64_t saturating_sum(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

// Returns the sum of `before` and the values of all threads up to each thread; `before` becomes the sum of
// all. Uses shared memory.
__device__ __forceinline__ int64_t scan_block(int64_t value, int64_t& before,
                                              int64_t (&of_warp)[kThreads / kWarp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int64_t other = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(distance));
    if (lane >= distance) value = saturating_sum(other, value);
  }
  if (lane == kWarp - 1) of_warp[warp] = value;
  __syncthreads();
  int64_t sum = before;
  for (int k = 0; k < warp; ++k) sum = saturating_sum(sum, of_warp[k]);
  sum = saturating_sum(sum, value);
  __syncthreads();
  if (threadIdx.x == kThreads - 1) before = sum;
  return sum;
}

static_assert(sizeof(TermSuperblock) == kListedSuperblockBytes);

// Shared memory of list_superblocks().
struct ListScratch {
  int64_t before;  // the counts of all groups before a round of groups
  int64_t of_warp[kThreads / kWarp];
  int64_t first[kThreads];  // the first shared superblock of each group of the round
};

// Two counts in one number: shared superblocks and, in the low 32 bits, singles. Neither exceeds INT32_MAX if a
// list is used.
constexpr int kSharedShift = 32;
constexpr int64_t kFaulty = INT64_MAX;  // the counts from the first faulty group on

// Lists the superblocks of a round of groups, group round + k in thread k. The ends of these groups must be
// visible, and all threads of the block must call it. From the first fault on, nothing is listed.
__device__ __forceinline__ void list_superblocks(const SuperblockList& list, const TermGroups& groups,
                                                 int64_t round, bool is_faulty, ListScratch& scratch) {
  const int64_t own_group = round + threadIdx.x;
  const bool is_group = own_group < groups.count && !is_faulty;
  // It is negative if the group before is faulty.
  const int64_t own_begin = is_group ? std::max<int64_t>(groups.begin(own_group), 0) : 0;
  const int64_t own_end = is_group ? groups.end(own_group) : 0;
  const bool is_single = is_group && own_end <= own_begin + kBlockTerms;
  const int64_t shared = is_group && !is_single ? ceil_div(own_end - own_begin, kSuperblockTerms) : 0;
  const int64_t counts = is_faulty ? kFaulty : shared << kSharedShift | (is_single ? 1 : 0);
  int64_t item = (scratch.before >> kSharedShift) + threadIdx.x;
  const int64_t sum = scan_block(counts, scratch.before, scratch.of_warp);
  scratch.first[threadIdx.x] = (sum >> kSharedShift) - shared;
  __syncthreads();
  if (scratch.before == kFaulty) return;
  if (is_single) list.superblocks[list.size - (sum & UINT32_MAX)] = {own_group, own_begin, own_end, true};
  // A long group has many superblocks, so that all threads share them.
  for (; item < scratch.before >> kSharedShift; item += kThreads) {
    const int64_t k = last_where(0, kThreads, [&](int64_t other) { return scratch.first[other] <= item; });
    const int64_t group = round + k;
    const int64_t group_begin = groups.begin(group);
    const int64_t group_end = groups.end(group);
    const int64_t begin = group_begin + (item - scratch.first[k]) * kSuperblockTerms;
    const int64_t end = begin + kSuperblockTerms < group_end ? begin + kSuperblockTerms : group_end;
    list.superblocks[item] = {group, begin, end, group_end - group_begin <= kSuperblockTerms};
  }
}

struct Arrivals {
  unsigned* counters;
  int64_t count;
};

// The first block reads groupIdx once, checks it and stores the group ends in the workspace. Later changes to
// groupIdx therefore cannot cause an out-of-bounds access. `faults` receives the number of faulty entries, and
// `list` the superblocks. The other blocks set the counters of complete superblocks to zero.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    read_ends(const __grid_constant__ GroupedBiasPlan plan, const Index* group_index, int64_t* ends,
              int64_t* faults, Arrivals arrivals, const __grid_constant__ SuperblockList list, bool strict,
              Fault* fault) {
  if (blockIdx.x > 0) {
    for (int64_t k = thread_number() - kThreads; k < arrivals.count; k += thread_count() - kThreads)
      arrivals.counters[k] = 0;
    return;
  }
  __shared__ int64_t before, of_warp[kThreads / kWarp];
  __shared__ ListScratch list_scratch;
  __shared__ FaultScan all;
  const TermGroups groups = {ends, 0, plan.groups, plan.rows};
  const bool as_sizes = plan.group_index_type == kGroupSizes;
  if (threadIdx.x == 0) before = list_scratch.before = 0;
  __syncthreads();
  FaultScan mine = FaultScan::none();
  Fault first = {};  // first fault of this thread
  for (int64_t round = 0; round < plan.groups; round += kThreads) {
    const int64_t j = round + threadIdx.x;
    const bool is_group = j < plan.groups;
    const int64_t entry = is_group ? static_cast<int64_t>(group_index[j * plan.index_stride]) : 0;
    const int64_t end = as_sizes ? scan_block(entry > 0 ? entry : 0, before, of_warp) : entry;
    if (is_group) ends[j] = end;
    __syncthreads();
    const int64_t previous = is_group && !as_sizes && j > 0 ? ends[j - 1] : INT64_MIN;  // the previous entry
    const bool decreases = entry < previous;
    const bool is_faulty = is_group && (entry < 0 || decreases || end > plan.rows);
    if (list.superblocks != nullptr) list_superblocks(list, groups, round, is_faulty, list_scratch);
    if (!is_faulty) continue;
    if (mine.count == 0) {
      first.value = entry;
      first.limit = decreases ? previous : plan.rows;
      first.kind = decreases   ? kEntryDecreases
                   : entry < 0 ? kEntryNegative
                   : as_sizes  ? kSizesBeyondRows
                               : kEndBeyondRows;
    }
    mine.add(j);
  }
  __syncthreads();
  if (list.superblocks != nullptr && threadIdx.x == 0) {
    const auto counts = static_cast<uint64_t>(list_scratch.before);
    *list.counts = {static_cast<unsigned>(counts >> kSharedShift), static_cast<unsigned>(counts), 0};
  }
  const FaultScan joined = join_block(mine);
  if (threadIdx.x == 0) {
    all = joined;
    const int64_t last_end = ends[plan.groups - 1];
    const bool rows_left = strict && all.count == 0 && last_end < plan.rows;
    *faults = all.count + (rows_left ? 1 : 0);
    if (rows_left) {
      fault->position = plan.groups - 1;
      fault->value = last_end;
      fault->limit = plan.rows;
      fault->total = plan.groups;
      fault->kind = kRowsLeft;
      fault->count = 1;
    }
  }
  __syncthreads();
  if (mine.count == 0 || mine.lowest != all.lowest) return;
  fault->position = all.lowest;
  fault->value = first.value;
  fault->limit = first.limit;
  fault->total = plan.groups;
  fault->kind = first.kind;
  fault->count = all.count;
}

// The terms: rows of gradY.
template <class T>
struct BiasRows {
  static constexpr int kStrips = 1;
  static constexpr int kPacks = 8;
  static constexpr int kBlocks = 2;
  static constexpr int kLeastBlocks = 32;

  struct Cursor {
    using In = T;
    const T* at;
    int64_t stride;

    __device__ __forceinline__ const T* next() {
      const T* const row = at;
      at += stride;
      return row;
    }
  };

  using In = T;
  const T* grad;
  int64_t group_stride, row_stride, rows_per_group;

  // rows_per_group is 0 if rows are numbered over all groups.
  __device__ __forceinline__ Cursor cursor(int64_t group, int64_t term) const {
    return {grad + group * group_stride + (term - group * rows_per_group) * row_stride, row_stride};
  }
};

template <class T>
cudaError_t launch(const GroupedBiasPlan& plan, const LaunchIo& io) {
  T* const out = plan_tensor<T>(plan, io, kGroupedOut);
  if (plan.rows == 0) return write_zeros(plan.out_nest, out, io.stream);  // every sum is empty

  const T* const grad = plan_tensor<const T>(plan, io, kGroupedGradY);
  constexpr int kCount = kLanes<T>;
  const bool packed =
      can_pack<kCount>(grad, plan.column_stride, plan.columns, {plan.group_stride, plan.row_stride}) &&
      can_pack<kCount>(out, plan.out_column_stride, plan.columns, {plan.out_row_stride});
  const bool has_long_groups = (plan.has_group_index ? plan.rows : plan.rows_per_group) > kSuperblockTerms;
  const Arrivals arrivals = {has_long_groups ? workspace_part<unsigned>(io, plan.scratch.arrivals) : nullptr,
                             has_long_groups ? arrivals_of(plan.rows, plan.columns) : 0};
  int64_t* const ends = plan.has_group_index ? workspace_part<int64_t>(io, plan.scratch.ends) : nullptr;
  int64_t* const faults = plan.has_group_index ? workspace_part<int64_t>(io, plan.scratch.faults) : nullptr;

  SumTargets<T> targets = {};
  targets.groups = {ends, plan.rows_per_group, plan.groups, plan.rows};
  targets.columns = plan.columns;
  targets.in_column_stride = plan.column_stride;
  targets.out = out;
  targets.out_row_stride = plan.out_row_stride;
  targets.out_column_stride = plan.out_column_stride;
  targets.superblock_sums = workspace_part<float>(io, plan.scratch.superblock_sums);
  targets.arrivals = arrivals.counters;
  targets.faults = faults;

  SuperblockList list = {};
  if (plan.scratch.listed_superblocks > 0) {
    list = {workspace_part<TermSuperblock>(io, plan.scratch.superblocks), plan.scratch.listed_superblocks,
            workspace_part<UnitCounts>(io, plan.scratch.unit_counts)};
  }
  const bool by_units = packed && suits_units<BiasRows<T>>(targets, list);
  if (!by_units) list = {};

  if (plan.has_group_index) {
    const auto read = [&](const auto* group_index) {
      using Index = std::remove_cvref_t<decltype(*group_index)>;
      const int64_t blocks = 1 + (arrivals.count > 0 ? blocks_for(arrivals.count) : 0);
      return launch_kernel(read_ends<Index>, grid_of(blocks), kThreads, 0, io.stream, plan, group_index, ends,
                           faults, arrivals, list, io.check == CheckMode::strict, io.fault);
    };
    OPENACLNN_CUDA_TRY(plan.index_dtype == ACL_INT32
                           ? read(plan_tensor<const int32_t>(plan, io, kGroupedIndex))
                           : read(plan_tensor<const int64_t>(plan, io, kGroupedIndex)));
  } else if (arrivals.count > 0) {
    OPENACLNN_CUDA_TRY(write_zeros(arrivals.counters, arrivals.count, io.stream));
  }
  const BiasRows<T> rows = {grad, plan.group_stride, plan.row_stride, plan.rows_per_group};
  return by_units ? launch_sum_units(rows, targets, list, io.stream)
                  : sum_rows(rows, targets, packed, io.stream);
}

}  // namespace

cudaError_t launch_grouped_bias_add_grad(const void* opaque_plan, const LaunchIo& io) {
  const auto& plan = *static_cast<const GroupedBiasPlan*>(opaque_plan);
  return with_float_type(plan.dtype, [&](auto type) { return launch<decltype(type)>(plan, io); });
}

}  // namespace openaclnn::cuda
