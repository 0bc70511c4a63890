// NsaCompressWithCache: checks, plan and the two entry points.
#include "ops/nsa/compress_with_cache/op.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <string_view>

#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "base/checked.h"
#include "base/storage_types.h"
#include "base/text.h"
#include "base/window_count.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

std::string describe_fault(const Fault& fault) {
  const bool is_slot = fault.kind == kSlotOutOfRange;
  return text(is_slot ? "slotMapping[" : "blockTableOptional[", fault.position, "] = ", fault.value,
              " is outside [0, ", fault.limit, "), the ", is_slot ? "slots of outputCache" : "pages of input",
              "; ", fault.count, " of ", fault.total, " completed blocks ",
              fault.nothing_written ? "are wrong and nothing was written" : "were not compressed");
}

int64_t sequences_of(const CacheCompressionArgs& args) { return args.slot_mapping.view.dims[0]; }
// Returns the dims of input starting with N.
const int64_t* heads_of(const CacheCompressionArgs& args) {
  return args.input.view.dims + (args.is_paged() ? 2 : 1);
}

Status check_shapes(const CacheCompressionArgs& args) {
  const auto& [input, weight, slots, lengths, table, layout, block_size, stride, type, page_size, cache] =
      args;
  OPENACLNN_TRY(args.is_paged()
                    ? require_rank(input, 4, "[pages, tokens of a page, N, D] with blockTableOptional")
                    : require_rank(input, 3, "[T, N, D] without blockTableOptional"));
  OPENACLNN_TRY(require_rank(weight, 2, "[L, N]"));
  OPENACLNN_TRY(require_rank(slots, 1, "[B]"));
  if (args.is_paged()) OPENACLNN_TRY(require_rank(table, 2, "[B, pages of a sequence]"));
  OPENACLNN_TRY(require_rank(cache, 3, "[slots, N, D]"));
  const int64_t heads = heads_of(args)[0], columns = heads_of(args)[1];
  if (heads < 1 || columns < 1) {
    return invalid("input has shape ", shape_text(input.view.shape()),
                   "; its last dims, N and D, must be at least 1");
  }
  if (block_size < 1) return invalid("compressBlockSize is ", block_size, "; it must be at least 1");
  OPENACLNN_TRY(require_shape(weight, {{block_size, heads}}, "[compressBlockSize, N of input]"));
  if (args.is_paged() && table.view.dims[0] != sequences_of(args)) {
    return invalid("blockTableOptional has shape ", shape_text(table.view.shape()),
                   " but slotMapping has shape ", shape_text(slots.view.shape()),
                   "; dim 0 of both is B, the number of sequences");
  }
  if (cache.view.dims[1] == heads && cache.view.dims[2] == columns) return {};
  return invalid("outputCache has shape ", shape_text(cache.view.shape()), " but input has shape ",
                 shape_text(input.view.shape()), "; their last two dims, N and D, must be equal");
}

Status check_attributes(const CacheCompressionArgs& args) {
  static constexpr std::string_view kLayouts[] = {"BSH", "SBH", "BSND", "BNSD", "TND"};
  if (args.stride < 1) return invalid("compressStride is ", args.stride, "; it must be at least 1");
  if (args.length_type != kLengths) {
    return invalid("actSeqLenType is ", args.length_type, "; it must be 1 (sequence lengths)");
  }
  const char* const layout = args.layout.text;
  if (layout != nullptr && std::ranges::find(kLayouts, layout) == std::end(kLayouts)) {
    return invalid("layoutOptional is ", quoted(args.layout),
                   "; it must be NULL, \"TND\", \"BSH\", \"SBH\", \"BSND\" or \"BNSD\"");
  }
  if (!args.is_paged()) return {};
  const int64_t page_tokens = args.input.view.dims[1];
  if (args.page_block_size >= 1 && args.page_block_size == page_tokens) return {};
  return invalid("pageBlockSize is ", args.page_block_size, " but input has ", page_tokens,
                 " tokens in a page; with blockTableOptional they must be equal, and at least 1");
}

// Without pages the sequences are consecutive.
Status check_lengths(const CacheCompressionArgs& args) {
  const std::span<const int64_t> lengths =
      args.lengths.is_given() ? std::span<const int64_t>(*args.lengths.values) : std::span<const int64_t>();
  const int64_t sequences = sequences_of(args);
  if (static_cast<int64_t>(lengths.size()) != sequences) {
    return invalid(
        "actSeqLenOptional ",
        args.lengths.is_given() ? text("has ", lengths.size(), " entries") : std::string("is NULL"),
        " but slotMapping has ", sequences, "; each sequence must have a length and a slot");
  }
  const auto entry = [&](size_t b) { return text("actSeqLenOptional[", b, "] = ", lengths[b]); };
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0) return invalid(entry(b), " is negative; sequence lengths must be at least 0");
  }
  if (args.is_paged()) {
    const Checked most = Checked(args.block_table.view.dims[1]) * args.page_block_size;
    for (size_t b = 0; b < lengths.size(); ++b) {
      if (!most.ok() || lengths[b] <= most.value()) continue;
      return invalid(entry(b), " exceeds ", most.value(), ", the tokens of the ",
                     args.block_table.view.dims[1], " pages that blockTableOptional has for a sequence");
    }
    return {};
  }
  const int64_t tokens = args.input.view.dims[0];
  int64_t total = 0;
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] > tokens - total) {
      return invalid(entry(b), " makes the sum of the sequence lengths exceed ", tokens,
                     ", the number of tokens of input");
    }
    total += lengths[b];
  }
  return {};
}

Status check_limits(const CacheCompressionArgs& args, const PlanContext& context) {
  if (!context.vendor_limits) return {};
  if (args.input.dtype() == ACL_FLOAT)
    return invalid("input has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16");
  const int64_t heads = heads_of(args)[0], columns = heads_of(args)[1];
  OPENACLNN_TRY(require_vendor_multiple("compressBlockSize", args.block_size));
  OPENACLNN_TRY(require_vendor_multiple("compressStride", args.stride));
  OPENACLNN_TRY(require_vendor_multiple("the last dim of input", columns));
  if (args.block_size < args.stride || args.block_size >= 128) {
    return invalid(
        "compressBlockSize is ", args.block_size, " and compressStride is ", args.stride,
        "; OPENACLNN_LIMITS=vendor accepts block sizes below 128 and strides of at most the block size");
  }
  if (heads > 64 || columns > 256) {
    return invalid("input has shape ", shape_text(args.input.view.shape()),
                   "; OPENACLNN_LIMITS=vendor accepts at most 64 heads and 256 columns");
  }
  if (args.is_paged() && args.page_block_size != 64 && args.page_block_size != 128) {
    return invalid("pageBlockSize is ", args.page_block_size, "; OPENACLNN_LIMITS=vendor accepts 64 or 128");
  }
  const int64_t slots = args.output_cache.view.dims[0];
  if (args.is_paged() && !args.input.view.is_empty()) {
    const int64_t most = (args.input.view.dims[0] * args.page_block_size - args.block_size) / args.stride;
    if (slots <= most) {
      return invalid("outputCache has ", slots, " slots; OPENACLNN_LIMITS=vendor requires more than ", most,
                     ", (pages * pageBlockSize - compressBlockSize) / compressStride");
    }
  }
  for (const Argument* tensor : {&args.input, &args.slot_mapping, &args.output_cache}) {
    if (!tensor->view.is_empty()) continue;
    return invalid(tensor->name, " has shape ", shape_text(tensor->view.shape()),
                   "; OPENACLNN_LIMITS=vendor accepts only non-empty tensors");
  }
  return {};
}

// Returns the sequences whose newest token completed a block.
RecycledVector<CompletedBlock> completed_blocks(const CacheCompressionArgs& args) {
  RecycledVector<CompletedBlock> blocks;
  int64_t start = 0;  // start of the sequence, without pages
  for (int64_t b = 0; b < sequences_of(args); ++b) {
    const int64_t length = (*args.lengths.values)[static_cast<size_t>(b)];
    if (ends_window(length, {args.block_size, args.stride})) {
      const int64_t first = length - args.block_size;
      blocks.push_back(args.is_paged()
                           ? CompletedBlock{b, first / args.page_block_size, first % args.page_block_size}
                           : CompletedBlock{b, 0, start + first});
    }
    start += args.is_paged() ? 0 : length;
  }
  return blocks;
}

// Lays out the workspace.
Result<uint64_t> lay_out_workspace(CacheCompressionPlan& plan, bool on_gpu) {
  WorkspaceLayout layout;
  plan.block_pages = layout.reserve(Checked(plan.blocks) * plan.pages_of_block * int64_t{sizeof(int32_t)});
  if (on_gpu) {
    // At most half of the table is used, so that searches stay short.
    plan.claim_count = static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(plan.blocks)));
    plan.completed = layout.reserve(Checked(plan.blocks) * int64_t{sizeof(CompletedBlock)});
    plan.block_slots = layout.reserve(Checked(plan.blocks) * int64_t{sizeof(int64_t)});
    plan.claims = layout.reserve(Checked(plan.claim_count) * int64_t{sizeof(unsigned long long)});
  } else {
    plan.weights = layout.reserve(Checked(plan.block_size) * plan.heads * int64_t{sizeof(float)});
    plan.jobs = layout.reserve(Checked(plan.blocks) * int64_t{sizeof(CacheJob)});
  }
  return layout.bytes(plan.blocks, " blocks of ", plan.block_size, " tokens");
}

}  // namespace

const Operator& nsa_compress_with_cache_operator() {
  static constexpr Operator op{"aclnnNsaCompressWithCache", nsa_compress_with_cache_kernel, describe_fault};
  return op;
}

Status check(const CacheCompressionArgs& args, const PlanContext& context) {
  static constexpr aclDataType kIndexDtypes[] = {ACL_INT32};
  const Argument &input = args.input, &weight = args.weight, &slots = args.slot_mapping,
                 &table = args.block_table, &cache = args.output_cache;
  OPENACLNN_TRY(require_dtype(input, kWindowDtypes));
  OPENACLNN_TRY(require_same_dtype(weight, input));
  OPENACLNN_TRY(require_dtype(slots, kIndexDtypes));
  if (args.is_paged()) OPENACLNN_TRY(require_dtype(table, kIndexDtypes));
  OPENACLNN_TRY(require_same_dtype(cache, input));
  OPENACLNN_TRY(require_extents({&input, &weight, &slots}));
  if (args.is_paged()) OPENACLNN_TRY(require_extents({&table}));
  OPENACLNN_TRY(require_extents({&cache}));
  OPENACLNN_TRY(check_shapes(args));
  OPENACLNN_TRY(check_attributes(args));
  OPENACLNN_TRY(require_plain_formats({&input, &weight, &slots}));
  if (args.is_paged()) OPENACLNN_TRY(require_plain_formats({&table}));
  OPENACLNN_TRY(require_plain_formats({&cache}));
  OPENACLNN_TRY(require_distinct_elements({&cache}));
  OPENACLNN_TRY(check_lengths(args));
  return check_limits(args, context);
}

Result<Call> plan(const CacheCompressionArgs& args, const PlanContext& context) {
  OPENACLNN_TRY(require_kernel_for(args.input, kFloatTypes));
  const RecycledVector<CompletedBlock> blocks = completed_blocks(args);
  const TensorView &input = args.input.view, &cache = args.output_cache.view;
  Call call;
  call.op = &nsa_compress_with_cache_operator();
  call.nothing_to_do = blocks.empty();
  CacheCompressionPlan plan = {};
  const auto add = [&](CacheTensor which, const Argument& argument, Role role) {
    const Parameter& made = add_tensor(call, argument, role);
    plan.offsets[which] = made.view.offset;
    plan.parameters[which] = call.index_of(made);
  };
  add(kCacheInput, args.input, Role::input);
  add(kCacheWeight, args.weight, Role::input);
  add(kCacheSlots, args.slot_mapping, Role::input);
  if (args.is_paged()) add(kCacheTable, args.block_table, Role::input);
  add(kCacheOutput, args.output_cache, Role::reference);
  const double block_elements = static_cast<double>(args.block_size) * static_cast<double>(cache.dims[1]) *
                                static_cast<double>(cache.dims[2]);
  call.work_bytes =
      static_cast<double>(blocks.size()) * block_elements * static_cast<double>(cache.element_bytes());
  if (!call.nothing_to_do) {
    plan.dtype = args.input.dtype();
    plan.is_paged = args.is_paged();
    plan.blocks = static_cast<int64_t>(blocks.size());
    plan.slots = cache.dims[0];
    plan.heads = cache.dims[1];
    plan.columns = cache.dims[2];
    plan.block_size = args.block_size;
    plan.pages = plan.is_paged ? input.dims[0] : 1;
    plan.page_tokens = plan.is_paged ? input.dims[1] : input.dims[0];
    plan.table_pages = plan.is_paged ? args.block_table.view.dims[1] : 1;
    plan.pages_of_block = plan.is_paged ? (args.block_size - 1) / plan.page_tokens + 2 : 1;
    plan.input_strides = last_strides_of<4>(input);
    plan.output_strides = last_strides_of<3>(cache);
    plan.weight_strides = last_strides_of<2>(args.weight.view);
    plan.table_strides = last_strides_of<2>(args.block_table.view);
    plan.slot_stride = stride_of(args.slot_mapping.view, 0);
    OPENACLNN_TRY_ASSIGN(workspace_bytes, lay_out_workspace(plan, context.on_gpu()));
    call.workspace_bytes = workspace_bytes;
  }
  call.plan = share_plan(plan, std::span<const CompletedBlock>(blocks));
  return call;
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnNsaCompressWithCacheGetWorkspaceSize(
    const aclTensor* input, const aclTensor* weight, const aclTensor* slotMapping,
    const aclIntArray* actSeqLenOptional, const aclTensor* blockTableOptional, char* layoutOptional,
    int64_t compressBlockSize, int64_t compressStride, int64_t actSeqLenType, int64_t pageBlockSize,
    aclTensor* outputCache, uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, CacheCompressionArgs& args) {
    arguments("input", input, args.input);
    arguments("weight", weight, args.weight);
    arguments("slotMapping", slotMapping, args.slot_mapping);
    arguments.optional("actSeqLenOptional", actSeqLenOptional, args.lengths);
    arguments.optional("blockTableOptional", blockTableOptional, args.block_table);
    arguments.optional("layoutOptional", layoutOptional, args.layout);
    arguments("compressBlockSize", compressBlockSize, args.block_size);
    arguments("compressStride", compressStride, args.stride);
    arguments("actSeqLenType", actSeqLenType, args.length_type);
    arguments("pageBlockSize", pageBlockSize, args.page_block_size);
    arguments("outputCache", outputCache, args.output_cache);
  };
  return phase1<CacheCompressionArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnNsaCompressWithCache(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                      aclrtStream stream) {
  return phase2(__func__, nsa_compress_with_cache_operator(), workspace, workspaceSize, executor, stream);
}
