// GroupedBiasAddGrad: checks, plan and the four entry points. The first version is the second with group ends.
#include "ops/grouped_bias_add_grad/op.h"

#include <optional>
#include <string>

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "base/checked.h"
#include "base/make_loop_nest.h"
#include "base/storage_types.h"
#include "base/sum_order.h"
#include "base/text.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

constexpr aclDataType kIndexDtypes[] = {ACL_INT32, ACL_INT64};

constexpr int64_t kMostVendorGroups = 2048;

std::string describe_fault(const Fault& fault) {
  const std::string entry = text("groupIdxOptional[", fault.position, "] = ", fault.value);
  const auto because = [&](const Fault& f) -> std::string {
    switch (f.kind) {
      case kEntryNegative: return text(entry, " is negative; entries must be in [0, ", f.limit, "]");
      case kEntryDecreases:
        return text(entry, " is below groupIdxOptional[", f.position - 1, "] = ", f.limit,
                    "; group ends must not decrease");
      case kEndBeyondRows: return text(entry, " exceeds ", f.limit, ", the number of rows of gradY");
      default:
        return text(entry, " makes the sum of the group sizes exceed ", f.limit,
                    ", the number of rows of gradY");
    }
  };
  if (fault.kind == kRowsLeft) {
    return text("the last group, groupIdxOptional[", fault.position, "], ends at row ", fault.value,
                " but gradY has ", fault.limit,
                " rows; strict mode requires every row to be in a group; nothing was written");
  }
  return text(because(fault), "; ", fault.count, " of ", fault.total,
              " entries are wrong and nothing was written");
}

Status check_limits(const GroupedBiasArgs& args, const PlanContext& context) {
  if (!context.vendor_limits || !args.group_index.is_given) return {};
  const int64_t groups = args.group_index.view.dims[0];
  if (groups <= kMostVendorGroups) return {};
  return invalid("groupIdxOptional has ", groups, " groups; OPENACLNN_LIMITS=vendor accepts at most ",
                 kMostVendorGroups);
}

// A list of superblocks makes sums of rows faster, unless groups are short: each has to be found again for each
// strip of columns.
bool lists_superblocks(const GroupedBiasPlan& plan) {
  return plan.has_group_index && plan.rows / kBlockTerms >= plan.groups;
}

// Lays out the workspace and returns its size.
Result<uint64_t> lay_out(GroupedBiasPlan& plan, bool on_gpu) {
  WorkspaceLayout layout;
  GroupedBiasScratch& scratch = plan.scratch;
  scratch.ends = layout.reserve(plan.has_group_index ? Checked(plan.groups) * 8 : Checked(0));
  scratch.faults = layout.reserve(plan.has_group_index && on_gpu ? 8 : 0);
  if (on_gpu && lists_superblocks(plan)) {
    scratch.listed_superblocks = plan.rows / kSuperblockTerms + plan.groups;
    scratch.superblocks = layout.reserve(Checked(scratch.listed_superblocks) * kListedSuperblockBytes);
    scratch.unit_counts = layout.reserve(kCacheLineBytes);
  }
  const int64_t longest_group = plan.has_group_index ? plan.rows : plan.rows_per_group;
  if (longest_group > kSuperblockTerms) {
    const int64_t stretches = plan.rows / kSuperblockTerms + 1;
    scratch.superblock_slots = superblock_slots(plan.rows);
    scratch.long_groups = layout.reserve(on_gpu ? Checked(0) : Checked(stretches) * 8);
    scratch.superblock_sums = layout.reserve(Checked(scratch.superblock_slots) * plan.columns * 4);
    scratch.arrivals = layout.reserve(
        on_gpu ? Checked(stretches) * ceil_div(plan.columns, kLeastStripColumns) * 4 : Checked(0));
  }
  return layout.bytes(plan.groups, " groups of ", plan.rows, " rows");
}

}  // namespace

const Operator& grouped_bias_add_grad_operator() {
  static constexpr Operator op{"aclnnGroupedBiasAddGrad", grouped_bias_add_grad_kernel, describe_fault};
  return op;
}

Status check(const GroupedBiasArgs& args, const PlanContext& context) {
  const auto& [grad_y, group_index, group_index_type, out] = args;
  const bool grouped = group_index.is_given;
  OPENACLNN_TRY(require_dtype(grad_y, kFloatTypes));
  if (grouped) OPENACLNN_TRY(require_dtype(group_index, kIndexDtypes));
  OPENACLNN_TRY(require_same_dtype(out, grad_y));
  OPENACLNN_TRY(require_extents({&grad_y, &group_index, &out}));
  if (grouped) {
    OPENACLNN_TRY(require_rank(grad_y, 2, "[R, H] with groupIdxOptional"));
    OPENACLNN_TRY(require_rank(group_index, 1, "[G]"));
  } else {
    OPENACLNN_TRY(require_rank(grad_y, 3, "[G, C, H] without groupIdxOptional"));
  }
  const int64_t groups = grouped ? group_index.view.dims[0] : grad_y.view.dims[0];
  const int64_t columns = grad_y.view.dims[grad_y.view.rank - 1];
  OPENACLNN_TRY(require_shape(out, {{groups, columns}}, "[G, H]"));
  if (group_index_type != kGroupEnds && group_index_type != kGroupSizes) {
    return invalid("groupIdxType is ", group_index_type,
                   "; it must be 0 (groupIdx holds the end row of each group) or 1 "
                   "(groupIdx holds the size of each group)");
  }
  OPENACLNN_TRY(require_plain_formats({&grad_y, &group_index, &out}));
  OPENACLNN_TRY(require_distinct_elements({&out}));
  return check_limits(args, context);
}

Result<Call> plan(const GroupedBiasArgs& args, const PlanContext& context) {
  const auto& [grad_y, group_index, group_index_type, out] = args;
  const bool grouped = group_index.is_given;
  OPENACLNN_TRY(require_kernel_for(grad_y, kFloatTypes));
  if (grouped) OPENACLNN_TRY(require_kernel_for(group_index, kIndexDtypes));
  Call call;
  call.op = &grouped_bias_add_grad_operator();
  call.nothing_to_do = out.view.is_empty();
  GroupedBiasPlan plan = {};

  const auto add = [&](const Argument& argument, Role role, bool is_accessed) {
    return call.index_of(add_tensor(call, argument, role, is_accessed));
  };
  const bool has_rows = !grad_y.view.is_empty();
  plan.parameters[kGroupedGradY] = add(grad_y, Role::input, true);
  if (grouped) plan.parameters[kGroupedIndex] = add(group_index, Role::input, has_rows);
  plan.parameters[kGroupedOut] = add(out, Role::output, true);

  if (!call.nothing_to_do) {
    const TensorView& grad = grad_y.view;
    plan.dtype = grad_y.dtype();
    plan.groups = out.view.dims[0];
    plan.columns = out.view.dims[1];
    plan.out_row_stride = stride_of(out.view, 0);
    plan.out_column_stride = stride_of(out.view, 1);
    plan.offsets[kGroupedOut] = out.view.offset;
    plan.out_nest = memory_order_nest<1>({&out.view}, 0);
    if (has_rows) {
      plan.has_group_index = grouped;
      plan.group_index_type = static_cast<GroupIndexType>(group_index_type);
      plan.rows_per_group = grouped ? 0 : grad.dims[1];
      plan.rows = grouped ? grad.dims[0] : grad.dims[0] * grad.dims[1];
      plan.group_stride = grouped ? 0 : stride_of(grad, 0);
      plan.row_stride = stride_of(grad, grad.rank - 2);
      plan.column_stride = stride_of(grad, grad.rank - 1);
      plan.offsets[kGroupedGradY] = grad.offset;
      if (grouped) {
        plan.index_dtype = group_index.dtype();
        plan.index_stride = stride_of(group_index.view, 0);
        plan.offsets[kGroupedIndex] = group_index.view.offset;
      }
      OPENACLNN_TRY_ASSIGN(workspace_bytes, lay_out(plan, context.on_gpu()));
      call.workspace_bytes = workspace_bytes;
    }
  }
  call.plan = share_plan(plan);
  return call;
}

namespace {

// The first version has no groupIdxType; its groupIdx holds ends.
aclnnStatus phase1_of(const char* function, const aclTensor* grad_y, const aclTensor* group_index,
                      std::optional<int64_t> group_index_type, const aclTensor* out,
                      uint64_t* workspace_bytes, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, GroupedBiasArgs& args) {
    args.group_index_type = kGroupEnds;
    arguments("gradY", grad_y, args.grad_y);
    arguments.optional("groupIdxOptional", group_index, args.group_index);
    if (group_index_type) arguments("groupIdxType", *group_index_type, args.group_index_type);
    arguments("out", out, args.out);
  };
  return phase1<GroupedBiasArgs>(function, workspace_bytes, executor, signature);
}

}  // namespace

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnGroupedBiasAddGradGetWorkspaceSize(const aclTensor* gradY, const aclTensor* groupIdxOptional,
                                                    aclTensor* out, uint64_t* workspaceSize,
                                                    aclOpExecutor** executor) {
  return phase1_of(__func__, gradY, groupIdxOptional, std::nullopt, out, workspaceSize, executor);
}

aclnnStatus aclnnGroupedBiasAddGradV2GetWorkspaceSize(const aclTensor* gradY,
                                                      const aclTensor* groupIdxOptional, int64_t groupIdxType,
                                                      aclTensor* out, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor) {
  return phase1_of(__func__, gradY, groupIdxOptional, groupIdxType, out, workspaceSize, executor);
}

aclnnStatus aclnnGroupedBiasAddGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                    aclrtStream stream) {
  return phase2(__func__, grouped_bias_add_grad_operator(), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnGroupedBiasAddGradV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream) {
  return phase2(__func__, grouped_bias_add_grad_operator(), workspace, workspaceSize, executor, stream);
}
