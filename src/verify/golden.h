// Goldens: the exact results of a call, and how far a correct implementation may be from them. Every room
// computes its own in verify/golden.h.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "verify/array.h"
#include "verify/case.h"
#include "verify/zeroed.h"

namespace openaclnn_verify {

// One call with its data. `tensors`: those that were given, in the order of the signature, with lists
// expanded. Inputs and updated tensors have their values before the call, outputs only dtype and dims.
struct GoldenCall {
  RecordedCall arguments;
  std::vector<Array> tensors;
  int threads = 0;  // 0: one per CPU that the process may use
};

// One result. Element i of a correct implementation is within ulp / 2 + bound[i] of exact[i], where ulp is the
// distance of neighbouring numbers of `dtype` around the implementation's own result. If exact[i] is beyond the
// range of `dtype`, Inf and the largest finite number are also correct, with the sign of exact[i].
struct GoldenOutput {
  std::string parameter;  // "weightGradOut"
  size_t list_index = 0;  // in a list of tensors
  aclDataType dtype = ACL_DT_UNDEFINED;
  Shape dims;
  // The mathematical result to about 2^-52 of its size, in row-major order. NaN and infinities are those that
  // the formula gives.
  ZeroedDoubles exact;
  // c * 2^-24 * (sum of the magnitudes of the terms). NaN: no guarantee covers the element, for example because
  // its intermediate sums may overflow.
  ZeroedDoubles bound;
  // The prescribed bytes of operators that only copy. Real dtypes also have `exact`, and a bound of 0.
  ZeroedBytes copied;
};

struct Golden {
  std::vector<GoldenOutput> outputs;
};

// Moves the outputs, which a list of initializers would copy.
template <class... Outputs>
Golden golden_with(Outputs... outputs) {
  Golden golden;
  (golden.outputs.push_back(std::move(outputs)), ...);
  return golden;
}

#define OPENACLNN_OPERATOR(folder, name) Golden golden_of_##folder(const GoldenCall& call);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

}  // namespace openaclnn_verify
