// apply_fused_ema_adam_: one optimizer step for an array, or for lists of arrays in one call.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "adam_attributes.h"
#include "call.h"
#include "number.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "operators.h"
#include "scalars.h"

namespace openaclnn::python {

namespace {

using Arrays = std::vector<Array>;

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

// Keeps the arrays of an argument alive. Another thread, or an array's own code, may change a list during
// the call, but not a tuple of its entries.
nb::object held(nb::handle object) {
  return is_list(object) ? nb::object(nb::tuple(object)) : nb::borrow(object);
}

Array describe_one(Place& place, nb::handle object, const Name& name, bool is_output) {
  return is_output ? place.output(object, name) : place.input(object, name);
}

// Returns the arrays of a held list, or a list of one array.
Arrays describe_all(Place& place, nb::handle object, const char* word, bool is_output) {
  Arrays arrays;
  if (!PyTuple_Check(object.ptr())) {
    arrays.push_back(describe_one(place, object, {word}, is_output));
    return arrays;
  }
  const Py_ssize_t count = NB_TUPLE_GET_SIZE(object.ptr());
  arrays.reserve(static_cast<size_t>(count));
  for (Py_ssize_t n = 0; n < count; ++n) {
    arrays.push_back(describe_one(place, NB_TUPLE_GET_ITEM(object.ptr(), n), {word, n}, is_output));
  }
  return arrays;
}

// In step 0 the corrections 1 - beta**step are 0 and all results NaN. A GPU's number is not read here.
void require_positive(const Number<int64_t>& step, bool bias_correction) {
  const std::optional<int64_t> value = step.host_value();
  if (!bias_correction || !value || *value >= 1) return;
  throw nb::value_error(("step is " + std::to_string(*value) +
                         "; with bias_correction it must be at least 1, the number of this update")
                            .c_str());
}

void run_one(const Place& place, const std::array<Array, 5>& arrays, const Number<int64_t>& step,
             const AdamAttributes& a) {
  const Tensor grad = make_tensor(arrays[0]), var = make_tensor(arrays[1]), m = make_tensor(arrays[2]),
               v = make_tensor(arrays[3]), s = make_tensor(arrays[4]), step_tensor = step.tensor();
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(
            grad.get(), var.get(), m.get(), v.get(), s.get(), step_tensor.get(), a.lr, a.ema_decay, a.beta1,
            a.beta2, a.eps, a.mode, a.bias_correction, a.weight_decay, bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
}

void run_list(const Place& place, const std::array<Arrays, 5>& arrays, const Arrays* copies,
              const Number<int64_t>& step, const Number<float>& grad_scale, const Number<float>& found_inf,
              const AdamAttributes& a) {
  const TensorList grads = make_list(arrays[0]), vars = make_list(arrays[1]), ms = make_list(arrays[2]),
                   vs = make_list(arrays[3]), ss = make_list(arrays[4]),
                   var_copies = copies != nullptr ? make_list(*copies) : TensorList();
  const Tensor step_tensor = step.tensor(), scale = grad_scale.tensor(), inf = found_inf.tensor();
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
            grads.get(), vars.get(), ms.get(), vs.get(), ss.get(), var_copies.get(), step_tensor.get(),
            scale.get(), inf.get(), a.lr, a.ema_decay, a.beta1, a.beta2, a.eps, a.mode, a.bias_correction,
            a.weight_decay, bytes, executor);
      },
      openaclnnApplyFusedEmaAdamList);
}

nb::object apply_fused_ema_adam(nb::handle grad, nb::handle var, nb::handle m, nb::handle v, nb::handle s,
                                nb::handle step, nb::handle lr, nb::handle ema_decay, nb::handle beta1,
                                nb::handle beta2, nb::handle eps, nb::handle mode, nb::handle bias_correction,
                                nb::handle weight_decay, nb::handle var_copy, nb::handle grad_scale,
                                nb::handle found_inf) {
  const std::array<nb::handle, 5> given = {grad, var, m, v, s};
  static constexpr const char* kNames[5] = {"grad", "var", "m", "v", "s"};
  for (size_t k = 1; k < given.size(); ++k) {
    if (is_list(given[k]) != is_list(grad)) {
      require_given(given[k], kNames[k]);
      throw nb::type_error("grad, var, m, v and s must all be arrays, or all be lists of arrays");
    }
  }
  Place place("apply_fused_ema_adam_");
  const AdamAttributes attributes =
      to_adam_attributes(lr, ema_decay, beta1, beta2, eps, mode, bias_correction, weight_decay);
  const bool is_plain = !is_list(grad) && var_copy.is_none() && grad_scale.is_none() && found_inf.is_none();
  std::array<Array, 5> ones;  // needs no allocation: small models make many small calls
  if (is_plain) {
    for (size_t k = 0; k < ones.size(); ++k) ones[k] = describe_one(place, given[k], {kNames[k]}, k > 0);
  }
  if (is_plain &&
      std::ranges::all_of(ones, [&](const Array& array) { return array.dtype == ones[0].dtype; })) {
    const Number<int64_t> step_number(place, step, "step", ACL_INT64);
    require_positive(step_number, attributes.bias_correction);
    run_one(place, ones, step_number, attributes);
  } else {
    const std::array<nb::object, 6> kept = {held(grad), held(var), held(m), held(v), held(s), held(var_copy)};
    std::array<Arrays, 5> arrays;
    for (size_t k = 0; k < arrays.size(); ++k) arrays[k] = describe_all(place, kept[k], kNames[k], k > 0);
    const Arrays copies = var_copy.is_none() ? Arrays() : describe_all(place, kept[5], "var_copy", true);
    const Number<int64_t> step_number(place, step, "step", ACL_INT64);
    require_positive(step_number, attributes.bias_correction);
    const Number<float> scale(place, grad_scale, "grad_scale", ACL_FLOAT),
        inf(place, found_inf, "found_inf", ACL_FLOAT);
    run_list(place, arrays, var_copy.is_none() ? nullptr : &copies, step_number, scale, inf, attributes);
  }
  return nb::make_tuple(var, m, v, s);
}

constexpr const char* kSignature =
    "def apply_fused_ema_adam_(grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, "
    "eps=1e-8, mode=1, bias_correction=True, weight_decay=0.0, *, var_copy=None, grad_scale=None, "
    "found_inf=None)";

constexpr const char* kEmaAdamDoc =
    R"(One step of Adam or AdamW that also updates an average of the parameter, in place.

For every element, with t = step:

    g  = grad                                (mode 0: grad + weight_decay * var)
    m  = beta1 * m + (1 - beta1) * g
    v  = beta2 * v + (1 - beta2) * g * g
    q  = (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps)     (mode 1: + weight_decay * var)
    var = var - lr * q
    s  = ema_decay * s + (1 - ema_decay) * var

Arguments are arrays of one shape, or lists of arrays, one entry for each parameter of a model; then
one native call updates all of them.

Parameters
----------
grad : gradient, float32, float16 or bfloat16, any shape of rank 0 to 8, any strides; not changed.
var, m, v, s : parameter, first and second moment (stored without bias correction), average of the
    parameter; shape of grad; updated in place. All of grad's dtype; or m, v and s float32, with grad
    and var each float32, float16 or bfloat16.
step : the number of this update, 1 in the first: an int, or an int64 array with at least one element.
    With bias_correction, 0 and negative numbers are rejected unless a GPU holds them.
lr, ema_decay, beta1, beta2, eps, weight_decay : numbers without unit; their ranges are not checked.
mode : 0: decay joins the gradient (Adam with L2); 1: it joins the update (AdamW).
bias_correction : False: both corrections 1 - beta**t count as 1.
var_copy : float16 or bfloat16 array (or list) that receives the new float32 parameter, rounded.
grad_scale : gradients are divided by it; a float, or a float32 array with one element.
found_inf : any value but 0 cancels the step, nothing is written; a float or a float32 array.

Returns
-------
The tuple (var, m, v, s), the same objects.

Raises
------
AclnnError : a dtype, shape or attribute is not as above, or arrays provably overlap: interleaved
    ones may not be noticed.
TypeError, ValueError : an argument is not an array, is read-only or is in memory of another device; step is
    below 1.

Arithmetic is IEEE float32, every operation rounded on its own; the bits depend on no thread or machine.
Source: Kingma and Ba, "Adam" (2015); Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019).
C function: aclnnApplyFusedEmaAdam; with lists, mixed dtypes or a keyword argument openaclnnApplyFusedEmaAdamList.)";

}  // namespace

void add_ema_adam(nb::module_& module) {
  using namespace nb::literals;
  module.def("apply_fused_ema_adam_", &apply_fused_ema_adam, required("grad"), required("var"), required("m"),
             required("v"), required("s"), required("step"), "lr"_a.none() = 1e-3,
             "ema_decay"_a.none() = 0.9999, "beta1"_a.none() = 0.9, "beta2"_a.none() = 0.999,
             "eps"_a.none() = 1e-8, "mode"_a.none() = 1, "bias_correction"_a.none() = true,
             "weight_decay"_a.none() = 0.0, nb::kw_only(), "var_copy"_a = nb::none(),
             "grad_scale"_a = nb::none(), "found_inf"_a = nb::none(), nb::sig(kSignature), kEmaAdamDoc);
}

}  // namespace openaclnn::python
