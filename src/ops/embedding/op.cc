// Embedding: checks, plan and the two entry points.
#include "ops/embedding/op.h"

#include <algorithm>
#include <array>

#include "aclnnop/aclnn_embedding.h"
#include "base/fault_scan_size.h"
#include "base/make_loop_nest.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

constexpr aclDataType kIndexDtypes[] = {ACL_INT32, ACL_INT64};
constexpr uint32_t kMostIndexDims = kMaxRank - 1;

std::string describe_fault(const Fault& fault) {
  return text("indices[", fault.position, "] = ", fault.value, " is outside [0, ", fault.limit, "); ",
              fault.nothing_written
                  ? text(fault.count, " of ", fault.total, " indices are wrong and nothing was written")
                  : text("the rows of ", fault.count, " of ", fault.total, " indices were set to zero"));
}

}  // namespace

const Operator& embedding_operator() {
  static constexpr Operator op{"aclnnEmbedding", embedding_kernel, describe_fault};
  return op;
}

Status check(const EmbeddingArgs& args, const PlanContext&) {
  static constexpr aclDataType kDtypes[] = {ACL_DOUBLE, ACL_FLOAT, ACL_FLOAT16,   ACL_BF16,
                                            ACL_INT64,  ACL_INT32, ACL_INT16,     ACL_INT8,
                                            ACL_UINT8,  ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128};
  const auto& [weight, indices, out] = args;
  OPENACLNN_TRY(require_dtype(weight, kDtypes));
  OPENACLNN_TRY(require_dtype(indices, kIndexDtypes));
  OPENACLNN_TRY(require_same_dtype(out, weight));
  OPENACLNN_TRY(require_extents({&weight, &indices, &out}));
  OPENACLNN_TRY(require_rank(weight, 2));
  if (indices.rank > kMostIndexDims) [[unlikely]] {
    return invalid("indices has rank ", indices.rank, "; at most ", kMostIndexDims,
                   " is accepted, because out has one dim more");
  }
  OPENACLNN_TRY(require_rank(out, indices.rank + 1));
  std::array<int64_t, kMaxRank> expected = {};
  std::copy_n(indices.view.dims, indices.rank, expected.begin());
  expected[indices.rank] = weight.view.dims[1];
  OPENACLNN_TRY(require_shape(out, {expected.data(), indices.rank + 1},
                              "the shape of indices followed by weight's dim 1"));
  OPENACLNN_TRY(require_plain_formats({&weight, &indices, &out}));
  return require_distinct_elements({&out});
}

Result<Call> plan(const EmbeddingArgs& args, const PlanContext& context) {
  const auto& [weight, indices, out] = args;
  OPENACLNN_TRY(require_kernel_for(indices, kIndexDtypes));
  Call call;
  call.op = &embedding_operator();
  call.nothing_to_do = out.view.is_empty();
  for (const auto& [argument, role] :
       {std::pair(&weight, Role::input), {&indices, Role::input}, {&out, Role::output}}) {
    add_tensor(call, *argument, role);
  }

  // Only the copied rows of the table count.
  call.work_bytes = 2.0 * static_cast<double>(out.view.numel() * out.view.element_bytes());

  EmbeddingPlan plan = {};
  plan.element_bytes = weight.view.element_bytes();
  plan.index_dtype = indices.dtype();
  plan.table_rows = weight.view.dims[0];
  plan.columns = weight.view.dims[1];
  plan.positions = indices.view.numel();
  if (!call.nothing_to_do) {
    plan.nest = row_major_nest<2>({&indices.view, &out.view}, 0, indices.view.rank);
    plan.out_column_stride = stride_of(out.view, out.view.rank - 1);
  }
  plan.weight_row_stride = stride_of(weight.view, 0);
  plan.weight_column_stride = stride_of(weight.view, 1);
  for (int k = 0; k < kEmbeddingParameters; ++k)
    plan.offsets[k] = call.parameters[static_cast<size_t>(k)].view.offset;
  if (context.on_gpu() && !call.nothing_to_do) {
    WorkspaceLayout layout;
    plan.scans = layout.reserve(kMostScanBlocks * kFaultScanBytes);
    plan.faults = layout.reserve(sizeof(int64_t));
    OPENACLNN_TRY_ASSIGN(workspace_bytes, layout.bytes("faults"));
    call.workspace_bytes = workspace_bytes;
  }
  call.plan = share_plan(plan);
  return call;
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor* weight, const aclTensor* indices,
                                           const aclTensor* out, uint64_t* workspaceSize,
                                           aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, EmbeddingArgs& args) {
    arguments("weight", weight, args.weight);
    arguments("indices", indices, args.indices);
    arguments("out", out, args.out);
  };
  return phase1<EmbeddingArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnEmbedding(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                           const aclrtStream stream) {
  return phase2(__func__, embedding_operator(), workspace, workspaceSize, executor, stream);
}
