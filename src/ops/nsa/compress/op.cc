// NsaCompress: checks, plan and the two entry points.
#include "ops/nsa/compress/op.h"

#include <algorithm>
#include <span>
#include <string>

#include "aclnnop/aclnn_nsa_compress.h"
#include "base/checked.h"
#include "base/storage_types.h"
#include "base/text.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

// No tensor data is a fault.
std::string describe_fault(const Fault&) { return ""; }

Status check_limits(const CompressionArgs& args, const PlanContext& context) {
  if (!context.vendor_limits) return {};
  OPENACLNN_TRY(check_vendor_limits(args, {&args.tokens, &args.weight, &args.compressed}));
  const auto require_at_most = [](const char* what, int64_t value, int64_t most) -> Status {
    if (value <= most) return {};
    return invalid(what, " is ", value, "; OPENACLNN_LIMITS=vendor accepts at most ", most);
  };
  OPENACLNN_TRY(require_at_most("dim 1 of input", args.tokens.view.dims[1], 128));
  OPENACLNN_TRY(require_at_most("compressBlockSize", args.block_size, 128));
  OPENACLNN_TRY(require_at_most("dim 2 of input", args.tokens.view.dims[2], 256));
  if (!args.has_lengths()) {
    return invalid(args.lengths.name, args.lengths.is_given() ? " is empty" : " is NULL",
                   "; OPENACLNN_LIMITS=vendor requires at least one sequence");
  }
  const Array<int64_t>& lengths = *args.lengths.values;
  if (lengths.back() != args.tokens.view.dims[0]) {
    return invalid(args.lengths.name, "[", lengths.size() - 1, "] = ", lengths.back(), " but input has ",
                   args.tokens.view.dims[0],
                   " tokens; OPENACLNN_LIMITS=vendor requires every token to be in a sequence");
  }
  return {};
}

}  // namespace

const Operator& nsa_compress_operator() {
  static constexpr Operator op{"aclnnNsaCompress", nsa_compress_kernel, describe_fault};
  return op;
}

Status check(const CompressionArgs& args, const PlanContext&) {
  const Argument& input = args.tokens;
  const Argument& weight = args.weight;
  const Argument& output = args.compressed;
  OPENACLNN_TRY(require_dtype(input, kWindowDtypes));
  OPENACLNN_TRY(require_same_dtype(weight, input));
  OPENACLNN_TRY(require_same_dtype(output, input));
  OPENACLNN_TRY(require_extents({&input, &weight, &output}));
  OPENACLNN_TRY(require_rank(input, 3, "[T, N, D]"));
  OPENACLNN_TRY(require_rank(weight, 2, "[L, N]"));
  OPENACLNN_TRY(require_rank(output, 3, "[J, N, D]"));
  if (input.view.dims[1] < 1 || input.view.dims[2] < 1) {
    return invalid("input has shape ", shape_text(input.view.shape()),
                   "; dims 1 and 2, N and D, must be at least 1");
  }
  OPENACLNN_TRY(check_block(args));
  OPENACLNN_TRY(check_compressed_dims(args));
  OPENACLNN_TRY(check_attributes(args));
  OPENACLNN_TRY(require_plain_formats({&input, &weight, &output}));
  return require_distinct_elements({&output});
}

Result<Call> plan(const CompressionArgs& args, std::span<const Sequence> sequences,
                  const PlanContext& context) {
  OPENACLNN_TRY(require_kernel_for(args.tokens, kFloatTypes));
  Call call;
  call.op = &nsa_compress_operator();
  call.nothing_to_do = args.compressed.view.is_empty();
  for (const auto& [argument, role] : {std::pair(&args.tokens, Role::input),
                                       {&args.weight, Role::input},
                                       {&args.compressed, Role::output}}) {
    add_tensor(call, *argument, role);
  }
  call.work_bytes = std::max(call.work_bytes, work_bytes(args));
  NsaCompressPlan plan = {};
  if (!call.nothing_to_do) {
    plan.dtype = args.tokens.dtype();
    plan.sizes = sizes_of(args, sequences.size());
    plan.input_strides = last_strides_of<3>(args.tokens.view);
    plan.output_strides = last_strides_of<3>(args.compressed.view);
    plan.weight_strides = last_strides_of<2>(args.weight.view);
    for (size_t k = 0; k < kCompressParameters; ++k) plan.offsets[k] = call.parameters[k].view.offset;
    WorkspaceLayout layout;
    if (context.on_gpu()) {
      plan.sequences = layout.reserve(Checked(plan.sizes.sequences) * sizeof(Sequence));
    } else {
      plan.weights = layout.reserve(Checked(plan.sizes.block_size) * plan.sizes.heads * 4);
    }
    OPENACLNN_TRY_ASSIGN(workspace_bytes,
                         layout.bytes(plan.sizes.block_size, " weights of ", plan.sizes.heads, " heads"));
    call.workspace_bytes = workspace_bytes;
  }
  call.plan = share_plan(plan, sequences);
  return call;
}

Result<Call> check_and_plan(const CompressionArgs& args, const PlanContext& context) {
  OPENACLNN_TRY(check(args, context));
  OPENACLNN_TRY_ASSIGN(sequences, find_sequences(args, context));
  OPENACLNN_TRY(check_limits(args, context));
  return plan(args, sequences, context);
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnNsaCompressGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                             const aclIntArray* actSeqLenOptional, char* layoutOptional,
                                             int64_t compressBlockSize, int64_t compressStride,
                                             int64_t actSeqLenType, aclTensor* output,
                                             uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, CompressionArgs& args) {
    arguments("input", input, args.tokens);
    arguments("weight", weight, args.weight);
    arguments.optional("actSeqLenOptional", actSeqLenOptional, args.lengths);
    arguments.optional("layoutOptional", layoutOptional, args.layout);
    arguments("compressBlockSize", compressBlockSize, args.block_size);
    arguments("compressStride", compressStride, args.stride);
    arguments("actSeqLenType", actSeqLenType, args.length_type);
    arguments("output", output, args.compressed);
  };
  return phase1<CompressionArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnNsaCompress(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                             aclrtStream stream) {
  return phase2(__func__, nsa_compress_operator(), workspace, workspaceSize, executor, stream);
}
