// The interface of GroupedBiasAddGrad, in both versions.
#pragma once

#include <vector>

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline TensorShape gradient_of_biases(const Arguments& a) {
  const aclDataType dtype = a.tensor("gradY").dtype;
  if (a.has("groupIdxOptional"))
    return {dtype, {a.dims_of_rank("groupIdxOptional", 1)[0], a.dims_of_rank("gradY", 2)[1]}};
  const Shape& dims = a.dims_of_rank("gradY", 3);
  return {dtype, {dims[0], dims[2]}};
}

inline std::vector<Description> grouped_bias_add_grad_descriptions() {
  using namespace parameters;
  const Parameter grad = read("gradY", kFloatDtypes),
                  groups = optional(read("groupIdxOptional", kIndexDtypes));
  const Parameter out = written("out", dtype_of("gradY"), gradient_of_biases);
  return {describe("aclnnGroupedBiasAddGrad", aclnnGroupedBiasAddGradGetWorkspaceSize,
                   aclnnGroupedBiasAddGrad, {grad, groups, out}),
          describe("aclnnGroupedBiasAddGradV2", aclnnGroupedBiasAddGradV2GetWorkspaceSize,
                   aclnnGroupedBiasAddGradV2, {grad, groups, number("groupIdxType", "0"), out})};
}

}  // namespace openaclnn_verify
