// The interface of ApplyFusedEmaAdam.
#pragma once

#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "verify/description.h"

namespace openaclnn_verify {

// The attributes at the end of the signature. The list operator also has them.
inline std::vector<Parameter> with_ema_adam_attributes(std::vector<Parameter> list) {
  using parameters::number;
  for (const Parameter& attribute :
       {number("lr", "1e-3"), number("emaDecay", "0.9999"), number("beta1", "0.9"), number("beta2", "0.999"),
        number("eps", "1e-8"), number("mode", "1"), number("biasCorrection", "true"),
        number("weightDecay", "0")})
    list.push_back(attribute);
  return list;
}

inline std::vector<Description> apply_fused_ema_adam_descriptions() {
  using namespace parameters;
  return {describe("aclnnApplyFusedEmaAdam", aclnnApplyFusedEmaAdamGetWorkspaceSize, aclnnApplyFusedEmaAdam,
                   with_ema_adam_attributes(
                       {may_equal_output(read("grad", kFloatDtypes)), updated("varRef", dtype_of("grad")),
                        updated("mRef", dtype_of("grad")), updated("vRef", dtype_of("grad")),
                        updated("sRef", dtype_of("grad")), read("step", ACL_INT64)}))};
}

}  // namespace openaclnn_verify
