// grouped_bias_add_grad: sums of rows by groups.

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "call.h"
#include "operators.h"
#include "scalars.h"

namespace openaclnn::python {

namespace {

nb::object grouped_bias_add_grad(nb::handle grad_y, nb::handle group_idx, nb::handle group_idx_type,
                                 nb::handle out) {
  const int64_t type = to_integer(group_idx_type, "group_idx_type");
  Place place("grouped_bias_add_grad");
  const Array grad_array = place.input(grad_y, {"grad_y"});
  const bool has_groups = !group_idx.is_none();
  const Array group_array = has_groups ? place.input(group_idx, {"group_idx"}) : Array();
  nb::object result = nb::borrow(out);
  if (out.is_none()) {
    const Array& groups = has_groups ? group_array : grad_array;
    const int64_t dims[] = {groups.rank > 0 ? groups.dims[0] : 1,
                            grad_array.rank > 0 ? grad_array.dims[grad_array.rank - 1] : 1};
    result = allocate(grad_y, grad_array, grad_array.dtype, dims);
  }
  const Array out_array = place.output(result, {"out"});
  const Tensor rows = make_tensor(grad_array), groups = has_groups ? make_tensor(group_array) : Tensor(),
               sums = make_tensor(out_array);
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnGroupedBiasAddGradV2GetWorkspaceSize(rows.get(), groups.get(), type, sums.get(), bytes,
                                                         executor);
      },
      aclnnGroupedBiasAddGradV2);
  return out.is_none() ? finished(std::move(result), grad_array.library) : result;
}

constexpr const char* kGroupedBiasDoc =
    R"(The gradient of one bias per group of rows, such as the biases of a mixture's experts.

out[j, h] is the sum of grad_y[i, h] over the rows i of group j.

Parameters
----------
grad_y : gradient of the biased rows, float32, float16 or bfloat16: [R, H] with group_idx, [G, C, H]
    without (G groups of C rows each).
group_idx : where the groups are, [G], int32 or int64.
group_idx_type : 0: group_idx holds the row after the last of each group; 1: the number of its rows.
out : receives the gradient of the biases, [G, H], grad_y's dtype. If omitted, a new array of its library is returned.

Returns
-------
out. Rows after the last group are ignored; a group without rows gives zeros.

Raises
------
AclnnIndexError (an IndexError) : an entry of group_idx is negative, decreases (type 0), or lies beyond the rows;
    nothing is written to out.
AclnnError : a dtype or shape is not as above. TypeError : not an array. ValueError : read-only, or another device.

Sums have a fixed order (docs/numerics.md), so that the bits don't depend on threads or machines.
Source: the derivative of y[i, :] = x[i, :] + bias[j, :]. C function: aclnnGroupedBiasAddGradV2.)";

}  // namespace

void add_grouped_bias(nb::module_& module) {
  using namespace nb::literals;
  module.def("grouped_bias_add_grad", &grouped_bias_add_grad, required("grad_y"), "group_idx"_a = nb::none(),
             "group_idx_type"_a.none() = 0, nb::kw_only(), "out"_a = nb::none(),
             nb::sig("def grouped_bias_add_grad(grad_y, group_idx=None, group_idx_type=0, *, out=None)"),
             kGroupedBiasDoc);
}

}  // namespace openaclnn::python
