// Statistics of a tensor, as dump tools record them.
#pragma once

#include "base/json.h"
#include "base/tensor_view.h"

namespace openaclnn {

// Adds the fields Max, Min, Mean and Norm to the open object, as msprobe writes them into dump.json:
// - Norm is the square root of the sum of squares. NaN anywhere makes all four NaN.
// - Mean and Norm are null for integers, DOUBLE and COMPLEX128.
// - For BOOL, Max tells whether any element is true, Min whether all are, and the others are null.
// - For complex numbers they are about the magnitudes, and Norm is null.
// - Otherwise all four are the value of a tensor of rank 0. All are null for an empty tensor.
// Sums are in double. Requires a successful check_extent(), and a dtype with a name in NumPy (npy_type()).
void add_statistics(Json& json, const TensorView& view);

}  // namespace openaclnn
