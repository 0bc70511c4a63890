// apply_adam_w_: one step of AdamW for an array; also with the numbers of aclnnApplyAdamW, for
// torch_npu.npu_apply_adam_w.
#include <optional>
#include <string>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "call.h"
#include "number.h"
#include "operators.h"
#include "scalars.h"

namespace openaclnn::python {

namespace {

// The corrections of step 0 are 0, and all results NaN. A GPU's number is not read here.
void require_not_negative(const Number<int64_t>& steps_done) {
  const std::optional<int64_t> value = steps_done.host_value();
  if (!value || *value >= 0) return;
  throw nb::value_error(("steps_done is " + std::to_string(*value) +
                         "; it must be at least 0, the number of updates before this one")
                            .c_str());
}

nb::object apply_adam_w(nb::handle grad, nb::handle var, nb::handle m, nb::handle v, nb::handle steps_done,
                        nb::handle lr, nb::handle beta1, nb::handle beta2, nb::handle eps,
                        nb::handle weight_decay, nb::handle max_v, nb::handle maximize) {
  const auto rate = static_cast<float>(to_real(lr, "lr")), b1 = static_cast<float>(to_real(beta1, "beta1")),
             b2 = static_cast<float>(to_real(beta2, "beta2")),
             epsilon = static_cast<float>(to_real(eps, "eps")),
             decay = static_cast<float>(to_real(weight_decay, "weight_decay"));
  const bool is_amsgrad = !max_v.is_none(), maximizes = to_flag(maximize, "maximize");
  Place place("apply_adam_w_");
  const Array grad_array = place.input(grad, {"grad"}), var_array = place.output(var, {"var"}),
              m_array = place.output(m, {"m"}), v_array = place.output(v, {"v"}),
              max_array = is_amsgrad ? place.output(max_v, {"max_v"}) : Array();
  const Number<int64_t> step(place, steps_done, "steps_done", ACL_INT64);
  require_not_negative(step);
  const Tensor grads = make_tensor(grad_array), vars = make_tensor(var_array), ms = make_tensor(m_array),
               vs = make_tensor(v_array), largest = is_amsgrad ? make_tensor(max_array) : Tensor(),
               step_tensor = step.tensor();
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWV2GetWorkspaceSize(vars.get(), ms.get(), vs.get(), largest.get(), grads.get(),
                                                 step_tensor.get(), rate, b1, b2, decay, epsilon, is_amsgrad,
                                                 maximizes, bytes, executor);
      },
      aclnnApplyAdamWV2);
  return nb::make_tuple(var, m, v);
}

void apply_adam_w_by_powers(nb::handle var, nb::handle m, nb::handle v, nb::handle beta1_power,
                            nb::handle beta2_power, nb::handle lr, nb::handle weight_decay, nb::handle beta1,
                            nb::handle beta2, nb::handle eps, nb::handle grad, nb::handle max_grad_norm,
                            nb::handle amsgrad, nb::handle maximize) {
  const bool is_amsgrad = to_flag(amsgrad, "amsgrad"), maximizes = to_flag(maximize, "maximize"),
             has_largest = !max_grad_norm.is_none();
  // These come before the arrays, because converting a caller's number may run any code.
  const auto real = [](nb::handle object, const char* name) { return nb::float_(to_real(object, name)); };
  const nb::float_ powers[] = {real(beta1_power, "beta1_power"), real(beta2_power, "beta2_power")},
                   numbers[] = {real(lr, "lr"), real(weight_decay, "weight_decay"), real(beta1, "beta1"),
                                real(beta2, "beta2"), real(eps, "epsilon")};
  Place place("npu_apply_adam_w");
  const Array var_array = place.output(var, {"var"}), m_array = place.output(m, {"m"}),
              v_array = place.output(v, {"v"}), grad_array = place.input(grad, {"grad"}),
              max_array = has_largest ? place.input(max_grad_norm, {"max_grad_norm"}) : Array();
  const Number<float> power1(place, powers[0], "beta1_power", ACL_FLOAT),
      power2(place, powers[1], "beta2_power", ACL_FLOAT), rate(place, numbers[0], "lr", ACL_FLOAT),
      decay(place, numbers[1], "weight_decay", ACL_FLOAT), b1(place, numbers[2], "beta1", ACL_FLOAT),
      b2(place, numbers[3], "beta2", ACL_FLOAT), epsilon(place, numbers[4], "epsilon", ACL_FLOAT);
  const Tensor vars = make_tensor(var_array), ms = make_tensor(m_array), vs = make_tensor(v_array),
               grads = make_tensor(grad_array), largest = has_largest ? make_tensor(max_array) : Tensor(),
               powers1 = power1.tensor(), powers2 = power2.tensor(), rates = rate.tensor(),
               decays = decay.tensor(), betas1 = b1.tensor(), betas2 = b2.tensor(),
               epsilons = epsilon.tensor();
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWGetWorkspaceSize(vars.get(), ms.get(), vs.get(), powers1.get(), powers2.get(),
                                               rates.get(), decays.get(), betas1.get(), betas2.get(),
                                               epsilons.get(), grads.get(), largest.get(), is_amsgrad,
                                               maximizes, bytes, executor);
      },
      aclnnApplyAdamW);
}

constexpr const char* kAdamWDoc =
    R"(One step of AdamW, with or without AMSGrad, in place.

For every element, with t = steps_done + 1, and -grad in place of grad with maximize:

    m   = beta1 * m + (1 - beta1) * grad
    v   = beta2 * v + (1 - beta2) * grad * grad
    n   = v                                  (with max_v: max_v = max(max_v, v), and n = max_v)
    var = var - lr * weight_decay * var - lr * (m / (1 - beta1**t)) / (sqrt(n / (1 - beta2**t)) + eps)

apply_fused_ema_adam_ does the same without AMSGrad for lists of arrays at once, and keeps an average.

Parameters
----------
grad : gradient, any shape of rank 0 to 8, any strides; not changed. var's dtype, or float16 or bfloat16
    where var is float32.
var, m, v : parameter, first and second moment (stored without bias correction); float32, float16 or
    bfloat16, all of one dtype and of grad's shape; updated in place.
steps_done : how many updates came before this one, 0 in the first: an int, or an int64 or float32 array
    with one element (cut to a whole number). Below 0: ValueError.
lr, beta1, beta2, eps, weight_decay : numbers without unit; their ranges are not checked.
max_v : AMSGrad: the largest second moments so far, updated in place; var's or grad's dtype. None: without.
maximize : move along the gradient instead of against it.

Returns
-------
The tuple (var, m, v), the same objects.

Raises
------
AclnnError : a dtype or shape is not as above, or arrays provably overlap: interleaved ones may not be noticed.
TypeError, ValueError : an argument is not an array, is read-only or is in memory of another device.

Arithmetic is IEEE float32, every operation rounded on its own; the bits depend on no thread or machine.
Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019); Reddi, Kale and Kumar, "On
the Convergence of Adam and Beyond" (2018). C function: aclnnApplyAdamWV2.)";

}  // namespace

void add_adam_w(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "apply_adam_w_", &apply_adam_w, required("grad"), required("var"), required("m"), required("v"),
      required("steps_done"), "lr"_a.none() = 1e-3, "beta1"_a.none() = 0.9, "beta2"_a.none() = 0.999,
      "eps"_a.none() = 1e-8, "weight_decay"_a.none() = 1e-2, nb::kw_only(), "max_v"_a = nb::none(),
      "maximize"_a.none() = false,
      nb::sig("def apply_adam_w_(grad, var, m, v, steps_done, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, "
              "weight_decay=1e-2, *, max_v=None, maximize=False)"),
      kAdamWDoc);
  module.def(
      "apply_adam_w_by_powers_", &apply_adam_w_by_powers, "var"_a.none(), "m"_a.none(), "v"_a.none(),
      "beta1_power"_a.none(), "beta2_power"_a.none(), "lr"_a.none(), "weight_decay"_a.none(),
      "beta1"_a.none(), "beta2"_a.none(), "eps"_a.none(), "grad"_a.none(), "max_grad_norm"_a.none(),
      "amsgrad"_a.none(), "maximize"_a.none(),
      "aclnnApplyAdamW for float32 arrays: powers are those of the steps before, with amsgrad v becomes "
      "the larger of max_grad_norm and the new second moment.");
}

}  // namespace openaclnn::python
