// ApplyFusedEmaAdam: checks, plan and the two entry points.
#include "ops/apply_fused_ema_adam/op.h"

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "base/make_loop_nest.h"
#include "base/storage_types.h"
#include "ops/registry.h"
#include "ops/require.h"

namespace openaclnn {

std::string describe_ema_adam_fault(const Fault& fault) {
  return text("step is ", fault.value, "; with biasCorrection it must be at least ", fault.limit);
}

Status check_mode(const EmaAdamAttributes& attributes) {
  if (attributes.mode == 0 || attributes.mode == 1) return {};
  return invalid("mode is ", attributes.mode,
                 "; it must be 0 (decay added to the gradient) or 1 (decoupled decay)");
}

const Operator& apply_fused_ema_adam_operator() {
  static constexpr Operator op{"aclnnApplyFusedEmaAdam", apply_fused_ema_adam_kernel,
                               describe_ema_adam_fault};
  return op;
}

Status check(const EmaAdamArgs& args, const PlanContext& context) {
  static constexpr aclDataType kStepDtype[] = {ACL_INT64};
  const Argument* const states[] = {&args.var, &args.m, &args.v, &args.s};
  OPENACLNN_TRY(require_dtype(args.grad, kFloatTypes));
  for (const Argument* state : states) OPENACLNN_TRY(require_dtype(*state, kFloatTypes));
  OPENACLNN_TRY(require_dtype(args.step, kStepDtype));
  for (const Argument* state : states) OPENACLNN_TRY(require_same_dtype(*state, args.grad));
  OPENACLNN_TRY(require_extents({&args.grad, &args.var, &args.m, &args.v, &args.s, &args.step}));
  for (const Argument* state : states) OPENACLNN_TRY(require_same_shape(*state, args.grad));
  if (args.step.view.is_empty()) {
    return invalid("step has shape ", shape_text(args.step.view.shape()),
                   "; it must hold at least one element");
  }
  OPENACLNN_TRY(check_mode(args.attributes));
  OPENACLNN_TRY(require_plain_formats({&args.grad, &args.var, &args.m, &args.v, &args.s, &args.step}));
  OPENACLNN_TRY(require_distinct_elements({&args.var, &args.m, &args.v, &args.s}));
  if (context.vendor_limits && args.grad.rank == 0) {
    return invalid("grad has rank 0; with OPENACLNN_LIMITS=vendor its rank must be at least 1");
  }
  return {};
}

Result<Call> plan(const EmaAdamArgs& args, const PlanContext&) {
  OPENACLNN_TRY(require_kernel_for(args.grad, kFloatTypes));
  Call call;
  call.op = &apply_fused_ema_adam_operator();
  call.nothing_to_do = args.grad.view.is_empty();

  Parameter& grad = add_tensor(call, args.grad, Role::input);
  grad.may_equal_output = true;  // all inputs of an element are read before any output is written
  for (const Argument* state : {&args.var, &args.m, &args.v, &args.s})
    add_tensor(call, *state, Role::reference);
  // For any shape, step is one number: the 8 bytes at data + offset * 8.
  add_number(call, args.step, args.attributes.bias_correction);

  const auto plan = make_recycled<EmaAdamPlan>();
  plan->attributes = args.attributes;
  plan->dtype = args.grad.dtype();
  plan->numel = args.grad.view.numel();
  if (!call.nothing_to_do) {
    plan->nest = memory_order_nest<kEmaStep>(
        {&args.grad.view, &args.var.view, &args.m.view, &args.v.view, &args.s.view}, kEmaVar);
  }
  for (int k = 0; k < kEmaParameters; ++k)
    plan->offsets[k] = call.parameters[static_cast<size_t>(k)].view.offset;
  call.plan = plan;
  return call;
}

}  // namespace openaclnn

using namespace openaclnn;

aclnnStatus aclnnApplyFusedEmaAdamGetWorkspaceSize(const aclTensor* grad, aclTensor* varRef, aclTensor* mRef,
                                                   aclTensor* vRef, aclTensor* sRef, const aclTensor* step,
                                                   double lr, double emaDecay, double beta1, double beta2,
                                                   double eps, int64_t mode, bool biasCorrection,
                                                   double weightDecay, uint64_t* workspaceSize,
                                                   aclOpExecutor** executor) {
  const auto signature = [=](auto& arguments, EmaAdamArgs& args) {
    EmaAdamAttributes& a = args.attributes;
    arguments("grad", grad, args.grad);
    arguments("varRef", varRef, args.var);
    arguments("mRef", mRef, args.m);
    arguments("vRef", vRef, args.v);
    arguments("sRef", sRef, args.s);
    arguments("step", step, args.step);
    arguments("lr", lr, a.lr);
    arguments("emaDecay", emaDecay, a.ema_decay);
    arguments("beta1", beta1, a.beta1);
    arguments("beta2", beta2, a.beta2);
    arguments("eps", eps, a.eps);
    arguments("mode", mode, a.mode);
    arguments("biasCorrection", biasCorrection, a.bias_correction);
    arguments("weightDecay", weightDecay, a.weight_decay);
  };
  return phase1<EmaAdamArgs>(__func__, workspaceSize, executor, signature);
}

aclnnStatus aclnnApplyFusedEmaAdam(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream) {
  return phase2(__func__, apply_fused_ema_adam_operator(), workspace, workspaceSize, executor, stream);
}
