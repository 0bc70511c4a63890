// NsaCompressGrad: checks, plan and the two entry points.
#include "ops/nsa/compress_grad/op.h"

#include <algorithm>
#include <span>
#include <string>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "base/checked.h"
#include "base/make_loop_nest.h"
#include "base/storage_types.h"
#include "base/text.h"
#include "ops/nsa/cover.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

// No tensor data is a fault.
std::string describe_fault(const Fault&) { return ""; }

Status check_limits(const CompressionGradArgs& args, const PlanContext& context) {
  if (!context.vendor_limits) return {};
  const CompressionArgs& forward = args.forward;
  return check_vendor_limits(
      forward, {&forward.compressed, &forward.tokens, &forward.weight, &args.input_grad, &args.weight_grad});
}

// Returns enough stretches to keep many threads busy in a large call, but few enough that their sums are
// small compared to the tokens.
int64_t count_stretches(const CompressionSizes& sizes) {
  constexpr int64_t kElementsEach = 64 * 1024;
  constexpr int64_t kMost = 64;
  const int64_t by_work = sizes.tokens * sizes.heads * sizes.columns / kElementsEach;
  const int64_t by_memory = sizes.tokens * sizes.columns / 8 / sizes.block_size;
  return std::clamp(std::min(by_work, by_memory), int64_t{1}, kMost);
}

// The same for a GPU, which needs more stretches, in windows. Each GPU thread adds its products of a stretch
// in fp32. Their number per weight is that of the stretch's column pieces times that of its windows, at most 64.
// The thread also reads the tokens after a stretch that its last windows overlap. If many windows overlap,
// there are fewer stretches but more groups of weights.
int64_t count_windows_of_stretch(const CompressionSizes& sizes) {
  constexpr int64_t kPieceColumns = 1024;  // columns of a head that 256 threads process at once, at least
  constexpr int64_t kMostAdditions = 64;
  constexpr int64_t kMostStretches = 256;
  static_assert(kColumnsOfStretch / kPieceColumns <= kMostAdditions);
  const int64_t pieces = ceil_div(std::min(sizes.columns, kColumnsOfStretch), kPieceColumns);
  const int64_t by_error = kMostAdditions / pieces;
  const int64_t by_memory = sizes.tokens * sizes.columns / 8 / sizes.block_size;
  const int64_t overlapping = overlapping_windows(sizes);
  const int64_t by_overlap = std::min(2 * kMostStretches / overlapping, kMostStretches);
  const int64_t stretches = std::max<int64_t>(std::min(by_memory, by_overlap), 1);
  return std::min(std::max(ceil_div(sizes.windows, stretches), overlapping), by_error);
}

}  // namespace

const Operator& nsa_compress_grad_operator() {
  static constexpr Operator op{"aclnnNsaCompressGrad", nsa_compress_grad_kernel, describe_fault};
  return op;
}

Status check(const CompressionGradArgs& args, const PlanContext&) {
  const auto& [forward, input_grad, weight_grad] = args;
  const Argument& output_grad = forward.compressed;
  const Argument& input = forward.tokens;
  const Argument& weight = forward.weight;
  OPENACLNN_TRY(require_dtype(output_grad, kWindowDtypes));
  for (const Argument* other : {&input, &weight, &input_grad, &weight_grad}) {
    OPENACLNN_TRY(require_same_dtype(*other, output_grad));
  }
  OPENACLNN_TRY(require_extents({&output_grad, &input, &weight, &input_grad, &weight_grad}));
  OPENACLNN_TRY(require_rank(output_grad, 3, "[J, N, D]"));
  OPENACLNN_TRY(require_rank(input, 3, "[T, N, D]"));
  OPENACLNN_TRY(require_rank(weight, 2, "[L, N]"));
  OPENACLNN_TRY(require_rank(input_grad, 3, "[T, N, D]"));
  OPENACLNN_TRY(require_rank(weight_grad, 2, "[L, N]"));
  OPENACLNN_TRY(check_block(forward));
  OPENACLNN_TRY(require_same_shape(input_grad, input));
  OPENACLNN_TRY(require_same_shape(weight_grad, weight));
  OPENACLNN_TRY(check_compressed_dims(forward));
  OPENACLNN_TRY(check_attributes(forward));
  OPENACLNN_TRY(require_plain_formats({&output_grad, &input, &weight, &input_grad, &weight_grad}));
  return require_distinct_elements({&input_grad, &weight_grad});
}

Result<Call> plan(const CompressionGradArgs& args, std::span<const Sequence> sequences,
                  const PlanContext& context) {
  const auto& [forward, input_grad, weight_grad] = args;
  OPENACLNN_TRY(require_kernel_for(input_grad, kFloatTypes));
  Call call;
  call.op = &nsa_compress_grad_operator();
  call.nothing_to_do = input_grad.view.is_empty() && weight_grad.view.is_empty();
  const bool only_zeros = forward.compressed.view.is_empty() || forward.tokens.view.is_empty();
  for (const auto& [argument, role] : {std::pair(&forward.compressed, Role::input),
                                       {&forward.tokens, Role::input},
                                       {&forward.weight, Role::input},
                                       {&input_grad, Role::output},
                                       {&weight_grad, Role::output}}) {
    add_tensor(call, *argument, role, role == Role::output || !only_zeros);
  }
  call.work_bytes = std::max(call.work_bytes, work_bytes(forward));
  NsaCompressGradPlan plan = {};
  if (!call.nothing_to_do) {
    plan.dtype = input_grad.dtype();
    plan.only_zeros = only_zeros;
    plan.sizes = sizes_of(forward, sequences.size());
    plan.output_grad_strides = last_strides_of<3>(forward.compressed.view);
    plan.input_strides = last_strides_of<3>(forward.tokens.view);
    plan.input_grad_strides = last_strides_of<3>(input_grad.view);
    plan.weight_strides = last_strides_of<2>(forward.weight.view);
    plan.weight_grad_strides = last_strides_of<2>(weight_grad.view);
    for (size_t k = 0; k < kCompressGradParameters; ++k) plan.offsets[k] = call.parameters[k].view.offset;
    if (!input_grad.view.is_empty()) plan.input_grad_nest = memory_order_nest<1>({&input_grad.view}, 0);
    if (!weight_grad.view.is_empty()) plan.weight_grad_nest = memory_order_nest<1>({&weight_grad.view}, 0);
  }
  if (!only_zeros) {
    const Checked weights = Checked(plan.sizes.block_size) * plan.sizes.heads;
    WorkspaceLayout layout;
    if (context.on_gpu()) {
      plan.windows_of_stretch = count_windows_of_stretch(plan.sizes);
      plan.stretches = ceil_div(plan.sizes.windows, plan.windows_of_stretch) *
                       ceil_div(plan.sizes.columns, kColumnsOfStretch);
      plan.sequences = layout.reserve(Checked(plan.sizes.sequences) * sizeof(Sequence));
    } else {
      plan.stretches = count_stretches(plan.sizes);
      plan.weights = layout.reserve(Checked(weight_phases(plan.sizes)) * plan.sizes.heads *
                                    most_windows_of_token(plan.sizes) * 4);
    }
    plan.weight_sums = layout.reserve(weights * 8 * plan.stretches);
    OPENACLNN_TRY_ASSIGN(workspace_bytes,
                         layout.bytes(plan.sizes.block_size, " weights of ", plan.sizes.heads, " heads"));
    call.workspace_bytes = workspace_bytes;
  }
  call.plan = share_plan(plan, sequences);
  return call;
}

Result<Call> check_and_plan(const CompressionGradArgs& args, const PlanContext& context) {
  OPENACLNN_TRY(check(args, context));
  OPENACLNN_TRY_ASSIGN(sequences, find_sequences(args.forward, context));
  OPENACLNN_TRY(check_limits(args, context));
  return plan(args, sequences, context);
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnNsaCompressGradGetWorkspaceSize(
    const aclTensor* outputGrad, const aclTensor* input, const aclTensor* weight,
    const aclIntArray* actSeqLenOptionalOptional, int64_t compressBlockSize, int64_t compressStride,
    int64_t actSeqLenType, char* layoutOptionalOptional, const aclTensor* inputGradOut,
    const aclTensor* weightGradOut, uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, CompressionGradArgs& args) {
    CompressionArgs& forward = args.forward;
    arguments("outputGrad", outputGrad, forward.compressed);
    arguments("input", input, forward.tokens);
    arguments("weight", weight, forward.weight);
    arguments.optional("actSeqLenOptionalOptional", actSeqLenOptionalOptional, forward.lengths);
    arguments("compressBlockSize", compressBlockSize, forward.block_size);
    arguments("compressStride", compressStride, forward.stride);
    arguments("actSeqLenType", actSeqLenType, forward.length_type);
    arguments.optional("layoutOptionalOptional", layoutOptionalOptional, forward.layout);
    arguments("inputGradOut", inputGradOut, args.input_grad);
    arguments("weightGradOut", weightGradOut, args.weight_grad);
  };
  return phase1<CompressionGradArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnNsaCompressGrad(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream) {
  return phase2(__func__, nsa_compress_grad_operator(), workspace, workspaceSize, executor, stream);
}
