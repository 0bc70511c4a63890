// The interface of ApplyAdamW, in both versions.
#pragma once

#include <vector>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> apply_adam_w_descriptions() {
  using namespace parameters;
  const Parameter var = updated("varRef"), m = updated("mRef"), v = updated("vRef");
  const Parameter amsgrad = number("amsgrad", "false"), maximize = number("maximize", "false");
  return {describe("aclnnApplyAdamW", aclnnApplyAdamWGetWorkspaceSize, aclnnApplyAdamW,
                   {var, m, v, read("beta1Power"), read("beta2Power"), read("lr"), read("weightDecay"),
                    read("beta1"), read("beta2"), read("eps"), read("grad"),
                    optional(read("maxGradNormOptional")), amsgrad, maximize}),
          describe("aclnnApplyAdamWV2", aclnnApplyAdamWV2GetWorkspaceSize, aclnnApplyAdamWV2,
                   {var, m, v, optional(updated("maxGradNormOptionalRef")), read("grad"), read("step"),
                    number("lr", "1e-3"), number("beta1", "0.9"), number("beta2", "0.999"),
                    number("weightDecay", "0"), number("eps", "1e-8"), amsgrad, maximize})};
}

}  // namespace openaclnn_verify
