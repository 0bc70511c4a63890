// ApplyAdamW: checks, plan and the four entry points.
#include "ops/apply_adam_w/op.h"

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "base/make_loop_nest.h"
#include "base/storage_types.h"
#include "base/text.h"
#include "ops/registry.h"
#include "ops/require.h"

namespace openaclnn {

namespace {

constexpr aclDataType kStepDtypes[] = {ACL_INT64, ACL_FLOAT};

constexpr const char* kMaximumRequired = "a tensor is required because amsgrad is true";

std::string describe_fault(const Fault& fault) {
  return text("step is ", value_text(fault), "; it counts the steps before this one and must be at least ",
              fault.limit);
}

// Visits all arguments in the order of the signature: visit(argument, operand or kAdamWOperands).
template <class Visit>
Status for_each_argument(const AdamWArgs& args, const Visit& visit) {
  const auto operand = [&](AdamWOperand k) { return visit(args[k], k); };
  for (const AdamWOperand k : {kAdamWVar, kAdamWM, kAdamWV}) OPENACLNN_TRY(operand(k));
  if (args.version == AdamWVersion::second) {
    OPENACLNN_TRY(operand(kAdamWMaximum));
    OPENACLNN_TRY(operand(kAdamWGrad));
    return visit(args.step, kAdamWOperands);
  }
  for (const Argument& scalar : args.scalars) OPENACLNN_TRY(visit(scalar, kAdamWOperands));
  OPENACLNN_TRY(operand(kAdamWGrad));
  return operand(kAdamWMaximum);
}

// The second version accepts 16-bit gradients for FLOAT parameters, and then a maximum of either dtype.
Status check_grad_dtype(const AdamWArgs& args) {
  const Argument &var = args[kAdamWVar], &grad = args[kAdamWGrad];
  if (args.version == AdamWVersion::first) return require_same_dtype(grad, var);
  if (grad.dtype() == var.dtype() || var.dtype() == ACL_FLOAT) return {};
  return invalid(grad.name, " has dtype ", dtype_name(grad.dtype()), " but ", var.name, " has dtype ",
                 dtype_name(var.dtype()), "; they must be equal unless ", var.name, " is ACL_FLOAT");
}
Status check_maximum_dtype(const AdamWArgs& args) {
  const Argument &var = args[kAdamWVar], &grad = args[kAdamWGrad], &maximum = args[kAdamWMaximum];
  if (!maximum.is_given || maximum.dtype() == var.dtype()) return {};
  if (args.version == AdamWVersion::first || grad.dtype() == var.dtype())
    return require_same_dtype(maximum, var);
  if (maximum.dtype() == grad.dtype()) return {};
  return invalid(maximum.name, " has dtype ", dtype_name(maximum.dtype()), "; it must be that of ", var.name,
                 " or ", grad.name, ", ", dtype_name(var.dtype()), " or ", dtype_name(grad.dtype()));
}

Status check_dtypes(const AdamWArgs& args) {
  OPENACLNN_TRY(for_each_argument(args, [&](const Argument& argument, AdamWOperand) -> Status {
    if (!argument.is_given) return {};
    if (&argument == &args.step) return require_dtype(argument, kStepDtypes);
    return require_dtype(argument, kFloatTypes);
  }));
  return for_each_argument(args, [&](const Argument& argument, AdamWOperand operand) -> Status {
    if (!argument.is_given || operand == kAdamWVar || &argument == &args.step) return {};
    if (operand == kAdamWGrad) return check_grad_dtype(args);
    if (operand == kAdamWMaximum) return check_maximum_dtype(args);
    return require_same_dtype(argument, args[kAdamWVar]);
  });
}

Status check_shapes(const AdamWArgs& args) {
  return for_each_argument(args, [&](const Argument& argument, AdamWOperand operand) -> Status {
    if (!argument.is_given) return {};
    if (operand != kAdamWOperands) return require_same_shape(argument, args[kAdamWVar]);
    if (argument.view.numel() == 1) return {};
    return invalid(argument.name, " has shape ", shape_text(argument.view.shape()),
                   "; it must hold one element");
  });
}

// Returns whether an operand is an output. The maximum is one only in the second version.
bool is_written(const AdamWArgs& args, AdamWOperand operand) {
  return operand < kAdamWGrad || (operand == kAdamWMaximum && args.version == AdamWVersion::second);
}

}  // namespace

const Operator& apply_adam_w_operator() {
  static constexpr Operator op{"aclnnApplyAdamW", apply_adam_w_kernel, describe_fault};
  return op;
}

Status check(const AdamWArgs& args, const PlanContext& context) {
  OPENACLNN_TRY(check_dtypes(args));
  const auto each = [&](const auto& rule) {
    return for_each_argument(args, [&](const Argument& argument, AdamWOperand operand) -> Status {
      return argument.is_given ? rule(argument, operand) : Status();
    });
  };
  OPENACLNN_TRY(each([](const Argument& argument, AdamWOperand) { return require_extents({&argument}); }));
  OPENACLNN_TRY(check_shapes(args));
  OPENACLNN_TRY(
      each([](const Argument& argument, AdamWOperand) { return require_plain_formats({&argument}); }));
  OPENACLNN_TRY(each([&](const Argument& argument, AdamWOperand operand) {
    return is_written(args, operand) ? require_distinct_elements({&argument}) : Status();
  }));
  if (context.vendor_limits && args[kAdamWVar].rank == 0)
    return invalid("varRef has rank 0; with OPENACLNN_LIMITS=vendor its rank must be at least 1");
  return {};
}

Result<Call> plan(const AdamWArgs& args, const PlanContext&) {
  Call call;
  call.op = &apply_adam_w_operator();
  call.nothing_to_do = args[kAdamWVar].view.is_empty();
  AdamWPlan plan = {};
  plan.version = args.version;
  plan.amsgrad = args.amsgrad;
  plan.maximize = args.maximize;
  plan.numbers = args.numbers;

  const auto add = [&](const Argument& argument, AdamWOperand operand) -> Status {
    if (!argument.is_given) return {};
    const Parameter& made =
        add_tensor(call, argument, is_written(args, operand) ? Role::reference : Role::input,
                   operand != kAdamWMaximum || args.amsgrad);
    const AdamWNumberPlace place = {call.index_of(made), made.view.offset};
    if (operand != kAdamWOperands) {
      OPENACLNN_TRY(require_kernel_for(argument, kFloatTypes));
      plan.parameters[operand] = place.parameter;
      plan.offsets[operand] = place.offset;
      plan.dtypes[operand] = argument.dtype();
      if (made.is_accessed)
        plan.bytes_per_element += argument.view.element_bytes() * (made.is_output ? 2 : 1);
    } else if (&argument == &args.step) {
      OPENACLNN_TRY(require_kernel_for(argument, kStepDtypes));
      plan.step = place;
      plan.step_dtype = argument.dtype();
    } else {
      plan.scalars[static_cast<size_t>(&argument - args.scalars.data())] = place;
    }
    return {};
  };
  OPENACLNN_TRY(for_each_argument(args, add));
  if (!args.amsgrad) {
    plan.parameters[kAdamWMaximum] = plan.parameters[kAdamWVar];
    plan.offsets[kAdamWMaximum] = plan.offsets[kAdamWVar];
    plan.dtypes[kAdamWMaximum] = plan.dtypes[kAdamWVar];
  }
  plan.numel = args[kAdamWVar].view.numel();
  if (!call.nothing_to_do) {
    const TensorView& maximum = args[args.amsgrad ? kAdamWMaximum : kAdamWVar].view;
    plan.nest = memory_order_nest<kAdamWOperands>(
        {&args[kAdamWVar].view, &args[kAdamWM].view, &args[kAdamWV].view, &args[kAdamWGrad].view, &maximum},
        kAdamWVar);
  }
  call.plan = share_plan(plan);
  return call;
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnApplyAdamWGetWorkspaceSize(aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                                            const aclTensor* beta1Power, const aclTensor* beta2Power,
                                            const aclTensor* lr, const aclTensor* weightDecay,
                                            const aclTensor* beta1, const aclTensor* beta2,
                                            const aclTensor* eps, const aclTensor* grad,
                                            const aclTensor* maxGradNormOptional, bool amsgrad, bool maximize,
                                            uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, AdamWArgs& args) {
    args.version = AdamWVersion::first;
    auto& t = args.tensors;
    auto& s = args.scalars;
    arguments("varRef", varRef, t[kAdamWVar]);
    arguments("mRef", mRef, t[kAdamWM]);
    arguments("vRef", vRef, t[kAdamWV]);
    arguments("beta1Power", beta1Power, s[kAdamWBeta1Power]);
    arguments("beta2Power", beta2Power, s[kAdamWBeta2Power]);
    arguments("lr", lr, s[kAdamWLr]);
    arguments("weightDecay", weightDecay, s[kAdamWWeightDecay]);
    arguments("beta1", beta1, s[kAdamWBeta1]);
    arguments("beta2", beta2, s[kAdamWBeta2]);
    arguments("eps", eps, s[kAdamWEps]);
    arguments("grad", grad, t[kAdamWGrad]);
    arguments.optional("maxGradNormOptional", maxGradNormOptional, t[kAdamWMaximum],
                       amsgrad ? kMaximumRequired : nullptr);
    arguments("amsgrad", amsgrad, args.amsgrad);
    arguments("maximize", maximize, args.maximize);
  };
  return phase1<AdamWArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnApplyAdamW(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                            aclrtStream stream) {
  return phase2(__func__, apply_adam_w_operator(), workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnApplyAdamWV2GetWorkspaceSize(aclTensor* varRef, aclTensor* mRef, aclTensor* vRef,
                                              aclTensor* maxGradNormOptionalRef, const aclTensor* grad,
                                              const aclTensor* step, float lr, float beta1, float beta2,
                                              float weightDecay, float eps, bool amsgrad, bool maximize,
                                              uint64_t* workspaceSize, aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, AdamWArgs& args) {
    args.version = AdamWVersion::second;
    auto& t = args.tensors;
    AdamWNumbers& n = args.numbers;
    arguments("varRef", varRef, t[kAdamWVar]);
    arguments("mRef", mRef, t[kAdamWM]);
    arguments("vRef", vRef, t[kAdamWV]);
    arguments.optional("maxGradNormOptionalRef", maxGradNormOptionalRef, t[kAdamWMaximum],
                       amsgrad ? kMaximumRequired : nullptr);
    arguments("grad", grad, t[kAdamWGrad]);
    arguments("step", step, args.step);
    arguments("lr", lr, n.lr);
    arguments("beta1", beta1, n.beta1);
    arguments("beta2", beta2, n.beta2);
    arguments("weightDecay", weightDecay, n.weight_decay);
    arguments("eps", eps, n.eps);
    arguments("amsgrad", amsgrad, args.amsgrad);
    arguments("maximize", maximize, args.maximize);
  };
  return phase1<AdamWArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnApplyAdamWV2(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                              aclrtStream stream) {
  return phase2(__func__, apply_adam_w_operator(), workspace, workspaceSize, executor, stream);
}
