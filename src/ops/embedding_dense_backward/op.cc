// EmbeddingDenseBackward: checks, plan and the two entry points.
#include "ops/embedding_dense_backward/op.h"

#include <algorithm>
#include <bit>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "base/checked.h"
#include "base/fault_scan_size.h"
#include "base/make_loop_nest.h"
#include "base/sort_size.h"
#include "base/storage_types.h"
#include "base/sum_order.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

std::string describe_fault(const Fault& fault) {
  return text("indices[", fault.position, "] = ", value_text(fault), " is outside [0, ", fault.limit, "); ",
              fault.count, " of ", fault.total,
              fault.nothing_written ? " indices are wrong and nothing was written" : " indices were skipped");
}

// Returns the rows of grad: the product of all dims but the last. The product of a non-empty view fits. With
// D = 0 it may not matter.
Checked grad_rows(const Argument& grad) {
  Checked rows = 1;
  for (int k = 0; k + 1 < grad.view.rank; ++k) {
    if (grad.view.dims[k] == 0) return 0;
    rows = rows * grad.view.dims[k];
  }
  return rows;
}

// Lays out the workspace and returns its size.
Result<uint64_t> lay_out(EmbeddingBackwardScratch& scratch, int64_t positions, int64_t table_rows,
                         int64_t columns) {
  constexpr int kMostDigitBits = 11;  // 2048 counters of 8 bytes fit in L1
  constexpr int64_t kPositionsPerBlock = 8192;
  constexpr int64_t kMostBlocks = 64;

  scratch.wide = std::max(positions, table_rows) >= int64_t{UINT32_MAX};
  scratch.blocks = std::clamp(positions / kPositionsPerBlock, int64_t{1}, kMostBlocks);
  const int64_t word_bytes = scratch.wide ? 8 : 4;
  WorkspaceLayout layout;
  scratch.keys = layout.reserve(Checked(positions) * word_bytes);
  // The state of every row is initialised and read once, even without indices. This must not be most of the
  // work.
  const Checked sums_bytes = Checked(table_rows) * columns * int64_t{sizeof(DirectSum)};
  scratch.direct = columns <= kMostDirectColumns && sums_bytes.ok() &&
                   sums_bytes.value() <= kMostDirectBytes && table_rows / 4 <= positions;
  if (scratch.direct) {
    scratch.terms = layout.reserve(table_rows * word_bytes);
    scratch.sums = layout.reserve(sums_bytes);
    return layout.bytes(positions, " indices");
  }

  const int key_bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(table_rows - 1))));
  scratch.passes = (key_bits + kMostDigitBits - 1) / kMostDigitBits;
  scratch.digit_bits = (key_bits + scratch.passes - 1) / scratch.passes;

  const Checked entry_bytes = Checked(positions) * (2 * word_bytes);
  scratch.entries[0] = layout.reserve(entry_bytes);
  scratch.entries[1] = layout.reserve(scratch.passes > 1 ? entry_bytes : Checked(0));
  scratch.histograms = layout.reserve(Checked(scratch.blocks) * (int64_t{8} << scratch.digit_bits));
  scratch.hot_rows = layout.reserve(kMostHotRows * 8);
  scratch.superblock_sums = layout.reserve(Checked(superblock_slots(positions)) * columns * 4);
  return layout.bytes(positions, " indices");
}

Result<uint64_t> lay_out(EmbeddingBackwardGpuScratch& scratch, int64_t positions, int64_t table_rows,
                         int64_t columns) {
  scratch.wide = std::max(positions, table_rows) >= int64_t{UINT32_MAX};
  const Checked word_bytes = scratch.wide ? 8 : 4;
  WorkspaceLayout layout;
  for (int k = 0; k < 2; ++k) {
    scratch.keys[k] = layout.reserve(Checked(positions) * word_bytes);
    scratch.positions[k] = layout.reserve(Checked(positions) * word_bytes);
  }
  scratch.sort = layout.reserve(sort_scratch_bytes(positions));
  const Checked counters = Checked(positions / kSuperblockTerms + 1) * ceil_div(columns, kLeastStripColumns) +
                           ceil_div(table_rows, kRowsOfWord);
  scratch.used = layout.reserve(counters * 4);
  scratch.counters = counters.value();
  scratch.ends = layout.reserve(Checked(positions) * 8);
  scratch.rows = layout.reserve(Checked(positions) * 8);
  scratch.out_rows = layout.reserve(Checked(positions) * 8);
  scratch.superblock_sums = layout.reserve(Checked(superblock_slots(positions)) * columns * 4);
  scratch.scans = layout.reserve(kMostScanBlocks * kFaultScanBytes);
  scratch.faults = layout.reserve(8);
  return layout.bytes(positions, " indices");
}

}  // namespace

const Operator& embedding_dense_backward_operator() {
  static constexpr Operator op{"aclnnEmbeddingDenseBackward", embedding_dense_backward_kernel,
                               describe_fault};
  return op;
}

Status check(const EmbeddingBackwardArgs& args, const PlanContext&) {
  const auto& [grad, indices, out, num_weights, padding_index, scale_by_frequency] = args;
  OPENACLNN_TRY(require_dtype(grad, kFloatTypes));
  OPENACLNN_TRY(require_dtype(indices, kIndexTypes));
  OPENACLNN_TRY(require_dtype(out, kFloatTypes));
  OPENACLNN_TRY(require_extents({&grad, &indices, &out}));
  OPENACLNN_TRY(require_rank_at_least(grad, 1));
  const int64_t columns = grad.view.dims[grad.view.rank - 1];
  const Checked rows = grad_rows(grad);
  if (columns != 0 && rows.value() != indices.view.numel()) {
    return invalid("indices has shape ", shape_text(indices.view.shape()), ", ", indices.view.numel(),
                   " elements, but grad has shape ", shape_text(grad.view.shape()), ", ", rows.value(),
                   " rows; there must be one index per row of grad");
  }
  OPENACLNN_TRY(require_rank(out, 2));
  if (static_cast<uint64_t>(out.view.dims[0]) != num_weights || out.view.dims[1] != columns) {
    return invalid("out has shape ", shape_text(out.view.shape()),
                   "; it must be [numWeights, grad's last dim] = [", num_weights, ", ", columns, "]");
  }
  OPENACLNN_TRY(require_plain_formats({&grad, &indices, &out}));
  return require_distinct_elements({&out});
}

Result<Call> plan(const EmbeddingBackwardArgs& args, const PlanContext& context) {
  const auto& [grad, indices, out, num_weights, padding_index, scale_by_frequency] = args;
  OPENACLNN_TRY(require_kernel_for(grad, kFloatTypes));
  OPENACLNN_TRY(require_kernel_for(indices, kIndexTypes));
  OPENACLNN_TRY(require_kernel_for(out, kFloatTypes));
  Call call;
  call.op = &embedding_dense_backward_operator();
  call.nothing_to_do = out.view.is_empty();
  for (const auto& [argument, role] :
       {std::pair(&grad, Role::input), {&indices, Role::input}, {&out, Role::output}}) {
    add_tensor(call, *argument, role);
  }

  EmbeddingBackwardPlan plan = {};
  if (!call.nothing_to_do) {
    plan.grad_dtype = grad.dtype();
    plan.index_dtype = indices.dtype();
    plan.out_dtype = out.dtype();
    plan.positions = indices.view.numel();
    plan.columns = out.view.dims[1];
    plan.table_rows = out.view.dims[0];
    plan.padding_row = padding_index < num_weights ? static_cast<int64_t>(padding_index) : -1;
    plan.scale_by_frequency = scale_by_frequency;
    plan.out_nest = memory_order_nest<1>({&out.view}, 0);
    if (plan.positions > 0) {
      plan.index_nest = row_major_nest<1>({&indices.view}, 0, indices.view.rank);
      plan.grad_row_nest = row_major_nest<1>({&grad.view}, 0, grad.view.rank - 1);
      const auto lay_out_for = [&](auto& scratch) {
        return lay_out(scratch, plan.positions, plan.table_rows, plan.columns);
      };
      OPENACLNN_TRY_ASSIGN(workspace_bytes,
                           context.on_gpu() ? lay_out_for(plan.gpu_scratch) : lay_out_for(plan.scratch));
      call.workspace_bytes = workspace_bytes;
    }
    plan.grad_column_stride = stride_of(grad.view, grad.view.rank - 1);
    plan.out_row_stride = stride_of(out.view, 0);
    plan.out_column_stride = stride_of(out.view, 1);
    for (int k = 0; k < kGradParameters; ++k)
      plan.offsets[k] = call.parameters[static_cast<size_t>(k)].view.offset;
  }
  call.plan = share_plan(plan);
  return call;
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(const aclTensor* grad, const aclTensor* indices,
                                                        uint64_t numWeights, uint64_t paddingIdx,
                                                        bool scaleGradByFreq, const aclTensor* out,
                                                        uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, EmbeddingBackwardArgs& args) {
    arguments("grad", grad, args.grad);
    arguments("indices", indices, args.indices);
    arguments("numWeights", numWeights, args.num_weights);
    arguments("paddingIdx", paddingIdx, args.padding_index);
    arguments("scaleGradByFreq", scaleGradByFreq, args.scale_by_frequency);
    arguments("out", out, args.out);
  };
  return phase1<EmbeddingBackwardArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnEmbeddingDenseBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        const aclrtStream stream) {
  return phase2(__func__, embedding_dense_backward_operator(), workspace, workspaceSize, executor, stream);
}
