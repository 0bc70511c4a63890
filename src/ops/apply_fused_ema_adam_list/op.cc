// ApplyFusedEmaAdamList: lookups, checks, plan and the two entry points.
#include "ops/apply_fused_ema_adam_list/op.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/make_loop_nest.h"
#include "base/storage_types.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/registry.h"
#include "ops/require.h"
#include "ops/workspace.h"

namespace openaclnn {

namespace {

// The tensors of one index: five, or six with copies.
struct Index {
  std::array<Argument, kEmaLists> tensors;
  size_t count;

  const Argument& operator[](size_t list) const { return tensors[list]; }
  std::span<const Argument> all() const { return {tensors.data(), count}; }
  std::span<const Argument> floats() const { return {tensors.data(), kEmaListCopy}; }  // all but the copy
  std::span<const Argument> written() const { return all().subspan(kEmaListVar); }
  bool has_copy() const { return count == kEmaLists; }
};

// Looks up all handles, which must be live.
using Names = std::array<const char*, kEmaLists>;
Status look_up(const EmaAdamListArgs& args, size_t n, const Names& names, Index& index) {
  index.count = args.has_copies() ? kEmaLists : kEmaListCopy;
  for (size_t k = 0; k < index.count; ++k) {
    const auto* const handle = static_cast<const aclTensor*>(args.lists[k].handles->elements[n]);
    OPENACLNN_TRY(look_up(NamedTensor{names[k], handle}, index.tensors[k]));
  }
  return {};
}

// Starts loading the descriptions of an index that is looked up soon. Thousands of them don't stay in the caches
// between two steps.
void prefetch(const EmaAdamListArgs& args, size_t n) {
  if (n >= args.length()) return;
  for (const auto& list : args.lists) {
    if (list.is_given()) TensorTable::instance().prefetch(list.handles->elements[n]);
  }
}
constexpr size_t kIndicesAhead = 2;  // 4 and 8 take as long

Status check_numbers_found(const EmaAdamListArgs& args) {
  for (const LateArgument& number : args.tensors) OPENACLNN_TRY(Status(number.found));
  return {};
}

Status require_equal_lengths(const EmaAdamListArgs& args) {
  for (const ListArgument& list : args.lists) {
    if (!list.is_given() || list.handles->elements.size() == args.length()) continue;
    return invalid(list.name, " has ", list.handles->elements.size(), " tensors but grads has ",
                   args.length(), "; they must be equal");
  }
  return {};
}

// Checks that each dtype is accepted.
Status check_dtypes(const Index& index) {
  static constexpr aclDataType kHalfFloats[] = {ACL_FLOAT16, ACL_BF16};
  for (const Argument& tensor : index.floats()) OPENACLNN_TRY(require_dtype(tensor, kFloatTypes));
  return index.has_copy() ? require_dtype(index[kEmaListCopy], kHalfFloats) : Status();
}
Status check_number_dtypes(const EmaAdamListArgs& args) {
  static constexpr aclDataType kDtypes[kEmaListTensors][1] = {{ACL_INT64}, {ACL_FLOAT}, {ACL_FLOAT}};
  for (size_t k = 0; k < kEmaListTensors; ++k) {
    if (args.tensors[k].is_given) OPENACLNN_TRY(require_dtype(args.tensors[k], kDtypes[k]));
  }
  return {};
}

// Checks that the dtypes of one index are compatible.
Status check_dtype_relations(const Index& index) {
  const Argument& m = index[kEmaListM];
  for (const size_t list : {kEmaListGrad, kEmaListVar}) {
    const Argument& tensor = index[list];
    if (tensor.dtype() == m.dtype() || m.dtype() == ACL_FLOAT) continue;
    return invalid(tensor.name, " has dtype ", dtype_name(tensor.dtype()), " but ", m.name, " has dtype ",
                   dtype_name(m.dtype()), "; they must be equal unless mRefs, vRefs and sRefs are ACL_FLOAT");
  }
  OPENACLNN_TRY(require_same_dtype(index[kEmaListV], m));
  OPENACLNN_TRY(require_same_dtype(index[kEmaListS], m));
  const Argument& var = index[kEmaListVar];
  if (!index.has_copy() || var.dtype() == ACL_FLOAT) return {};
  return invalid(var.name, " has dtype ", dtype_name(var.dtype()),
                 "; with varCopiesOptional it must be ACL_FLOAT");
}

Status check_extents(const Index& index) {
  for (const Argument& tensor : index.all()) OPENACLNN_TRY(require_extents({&tensor}));
  return {};
}
Status check_number_extents(const EmaAdamListArgs& args) {
  for (const Argument& number : args.tensors) {
    if (number.is_given) OPENACLNN_TRY(require_extents({&number}));
  }
  return {};
}

Status check_shapes(const Index& index) {
  for (const Argument& tensor : index.written())
    OPENACLNN_TRY(require_same_shape(tensor, index[kEmaListGrad]));
  return {};
}
Status check_number_shapes(const EmaAdamListArgs& args) {
  for (const Argument& number : args.tensors) {
    if (!number.is_given) continue;
    const bool is_step = &number == &args.tensors[kEmaListStep];
    if (is_step ? !number.view.is_empty() : number.view.numel() == 1) continue;
    return invalid(number.name, " has shape ", shape_text(number.view.shape()), "; it must hold ",
                   is_step ? "at least one element" : "one element");
  }
  return {};
}

Status check_attributes(const EmaAdamListArgs& args) { return check_mode(args.attributes); }

Status check_formats(const Index& index) {
  for (const Argument& tensor : index.all()) OPENACLNN_TRY(require_plain_formats({&tensor}));
  return {};
}
Status check_number_formats(const EmaAdamListArgs& args) {
  for (const Argument& number : args.tensors) {
    if (number.is_given) OPENACLNN_TRY(require_plain_formats({&number}));
  }
  return {};
}

Status check_distinct_elements(const Index& index) {
  for (const Argument& tensor : index.written()) OPENACLNN_TRY(require_distinct_elements({&tensor}));
  return {};
}

// The order of validation. A stage checks the tensors of every index, then the rest of the call.
struct Stage {
  Status (*check_index)(const Index&);
  Status (*check_rest)(const EmaAdamListArgs&);
};
constexpr Stage kStages[] = {
    {nullptr, check_numbers_found},  // looking up an index is its only check here
    {check_dtypes, check_number_dtypes},   {check_dtype_relations, nullptr},
    {check_extents, check_number_extents}, {check_shapes, check_number_shapes},
    {nullptr, check_attributes},           {check_formats, check_number_formats},
    {check_distinct_elements, nullptr},
};

// Unrolled, so that the checks of all stages are inlined: every index passes them.
template <size_t kStage = 0>
Status check(const Index& index) {
  if constexpr (kStage == std::size(kStages)) {
    return {};
  } else {
    if constexpr (kStages[kStage].check_index != nullptr) OPENACLNN_TRY(kStages[kStage].check_index(index));
    return check<kStage + 1>(index);
  }
}

// Looks up index n and runs one stage, or all. Builds names such as "varRefs[17]", so only failing calls use
// it.
Status check_with_names(const EmaAdamListArgs& args, size_t n, const Stage* stage) {
  std::array<std::string, kEmaLists> texts;
  Names names;
  for (size_t k = 0; k < kEmaLists; ++k) {
    texts[k] = text(args.lists[k].name, "[", n, "]");
    names[k] = texts[k].c_str();
  }
  Index index;
  OPENACLNN_TRY(look_up(args, n, names, index));
  if (stage == nullptr) return check(index);
  return stage->check_index != nullptr ? stage->check_index(index) : Status();
}

// The failure of index `wrong` is not necessarily the first: an earlier stage may fail at a later index.
Status first_failure(const EmaAdamListArgs& args, size_t wrong) {
  for (const Stage& stage : kStages) {
    for (size_t n = 0; n < args.length(); ++n) OPENACLNN_TRY(check_with_names(args, n, &stage));
    if (stage.check_rest != nullptr) OPENACLNN_TRY(stage.check_rest(args));
  }
  return check_with_names(args, wrong, nullptr);
}

// ---- The plan ----

class Planner {
 public:
  explicit Planner(const EmaAdamListArgs& args) : args_(args) {
    const size_t length = args.length();
    plan_.attributes = args.attributes;
    plan_.lists_length = static_cast<int64_t>(length);
    plan_.has_copies = args.has_copies();
    items_.reserve(length);
    call_.elements.resize(length * (args.has_copies() ? kEmaLists : kEmaListCopy));
  }

  // Requires that the index has passed its checks.
  void add(size_t n, const Index& index) {
    for (size_t k = 0; k < index.count; ++k) {
      call_.elements.set(k * args_.length() + n, index[k].view, index[k].facts);
    }
    for (size_t k = 0; k < index.count; ++k) {
      if (!is_float_type(index[k].dtype())) has_kernels_ = require_kernel_for(index[k], kFloatTypes);
    }
    if (index[kEmaListGrad].facts.is_empty) return;
    std::array<const TensorView*, kEmaLists> views;
    for (size_t k = 0; k < kEmaLists; ++k) views[k] = &index[k < index.count ? k : size_t{kEmaListVar}].view;

    EmaAdamListItem item = {};
    item.start = plan_.numel;
    item.numel = views[0]->numel();
    item.index = static_cast<int64_t>(n);
    item.nest = kAllContiguous;
    int64_t element_traffic = 0;
    for (size_t k = 0; k < kEmaLists; ++k) {
      item.offsets[k] = views[k]->offset;
      item.dtypes[k] = views[k]->dtype;
      const int accesses = k == kEmaListGrad || k == kEmaListCopy ? 1 : 2;
      if (k < index.count) element_traffic += accesses * views[k]->element_bytes();
    }
    if (!std::ranges::all_of(index.all(), [](const Argument& tensor) { return tensor.facts.is_row_major; })) {
      const EmaAdamListNest nest = memory_order_nest<kEmaLists>(views, kEmaListVar);
      if (nest.rank > 1 || !nest.inner_is_contiguous()) {
        item.nest = static_cast<int64_t>(nests_.size());
        nests_.push_back(nest);
      }
    }
    traffic_bytes_ = traffic_bytes_ + Checked(item.numel) * element_traffic;
    if (!traffic_bytes_.ok()) return;
    plan_.numel += item.numel;
    items_.push_back(item);
  }

  Result<Call> finish(bool on_gpu) {
    OPENACLNN_TRY(has_kernels_);
    if (!traffic_bytes_.ok())
      return invalid(
          "grads has too many elements; the bytes of all tensors must fit a signed 64-bit integer");
    plan_.traffic_bytes = traffic_bytes_.value();
    call_.op = &apply_fused_ema_adam_list_operator();
    call_.nothing_to_do = items_.empty();
    for (size_t k = 0; k < kEmaLists; ++k) {
      if (args_.lists[k].is_given()) add_list(k);
    }
    for (size_t k = 0; k < kEmaListTensors; ++k) {
      plan_.parameters[k] = args_.tensors[k].is_given ? add_number(k) : kNotGiven;
      plan_.offsets[k] = args_.tensors[k].view.offset;
    }
    call_.work_bytes = static_cast<double>(plan_.traffic_bytes);
    plan_.items = static_cast<int64_t>(items_.size());
    plan_.nests = static_cast<int64_t>(nests_.size());
    if (on_gpu) {
      WorkspaceLayout layout;
      plan_.table = layout.reserve(Checked(plan_.items) * sizeof(EmaAdamListEntry) +
                                   Checked(plan_.nests) * sizeof(EmaAdamListNest));
      OPENACLNN_TRY_ASSIGN(workspace_bytes, layout.bytes("the table of ", plan_.items, " indices"));
      call_.workspace_bytes = workspace_bytes;
    }
    call_.plan =
        share_plan(plan_, std::span<const EmaAdamListItem>(items_), std::span<const EmaAdamListNest>(nests_));
    return std::move(call_);
  }

 private:
  void add_list(size_t list) {
    Parameter& made = call_.append();
    made.name = args_.lists[list].name;
    made.is_input = list != kEmaListCopy;
    made.is_output = list != kEmaListGrad;
    made.is_accessed = !items_.empty();
    made.may_equal_output = list == kEmaListGrad;  // reads of an element precede its writes
    made.is_list = true;
    made.first_element = list * args_.length();
    made.element_count = args_.length();
  }

  int add_number(size_t which) {
    const bool is_accessed = which != kEmaListStep || args_.attributes.bias_correction;
    return call_.index_of(openaclnn::add_number(call_, args_.tensors[which], is_accessed));
  }

  const EmaAdamListArgs& args_;
  EmaAdamListPlan plan_ = {};
  Checked traffic_bytes_ = 0;
  Status has_kernels_;
  RecycledVector<EmaAdamListItem> items_;
  RecycledVector<EmaAdamListNest> nests_;
  Call call_;
};

}  // namespace

const Operator& apply_fused_ema_adam_list_operator() {
  static constexpr Operator op{"openaclnnApplyFusedEmaAdamList", apply_fused_ema_adam_list_kernel,
                               describe_ema_adam_fault};
  return op;
}

Result<Call> check_and_plan(const EmaAdamListArgs& args, const PlanContext& context) {
  OPENACLNN_TRY(require_equal_lengths(args));
  Names names;
  for (size_t k = 0; k < kEmaLists; ++k) names[k] = args.lists[k].name;
  Planner planner(args);
  Index index;
  for (size_t n = 0; n < args.length(); ++n) {
    prefetch(args, n + kIndicesAhead);
    if (!look_up(args, n, names, index).ok() || !check(index).ok()) return first_failure(args, n);
    planner.add(n, index);
  }
  for (const Stage& stage : kStages) {
    if (stage.check_rest == nullptr) continue;
    OPENACLNN_TRY(stage.check_rest(args));
  }
  return planner.finish(context.on_gpu());
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
    const aclTensorList* grads, aclTensorList* varRefs, aclTensorList* mRefs, aclTensorList* vRefs,
    aclTensorList* sRefs, aclTensorList* varCopiesOptional, const aclTensor* step,
    const aclTensor* gradScaleOptional, const aclTensor* foundInfOptional, double lr, double emaDecay,
    double beta1, double beta2, double eps, int64_t mode, bool biasCorrection, double weightDecay,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, EmaAdamListArgs& args) {
    auto& lists = args.lists;
    auto& tensors = args.tensors;
    EmaAdamAttributes& a = args.attributes;
    arguments("grads", grads, lists[kEmaListGrad]);
    arguments("varRefs", varRefs, lists[kEmaListVar]);
    arguments("mRefs", mRefs, lists[kEmaListM]);
    arguments("vRefs", vRefs, lists[kEmaListV]);
    arguments("sRefs", sRefs, lists[kEmaListS]);
    arguments.optional("varCopiesOptional", varCopiesOptional, lists[kEmaListCopy]);
    arguments("step", step, tensors[kEmaListStep]);
    arguments.optional("gradScaleOptional", gradScaleOptional, tensors[kEmaListGradScale]);
    arguments.optional("foundInfOptional", foundInfOptional, tensors[kEmaListFoundInf]);
    arguments("lr", lr, a.lr);
    arguments("emaDecay", emaDecay, a.ema_decay);
    arguments("beta1", beta1, a.beta1);
    arguments("beta2", beta2, a.beta2);
    arguments("eps", eps, a.eps);
    arguments("mode", mode, a.mode);
    arguments("biasCorrection", biasCorrection, a.bias_correction);
    arguments("weightDecay", weightDecay, a.weight_decay);
  };
  return phase1<EmaAdamListArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus openaclnnApplyFusedEmaAdamList(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                           aclrtStream stream) {
  return phase2(__func__, apply_fused_ema_adam_list_operator(), workspace, workspaceSize, executor, stream);
}
