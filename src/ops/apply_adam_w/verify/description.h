// The interface of ApplyAdamW, in both versions.
#pragma once

#include <array>
#include <vector>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> apply_adam_w_descriptions() {
  using namespace parameters;
  const Dtypes as_var = dtype_of("varRef");
  const Parameter var = updated("varRef", kFloatDtypes), m = updated("mRef", as_var),
                  v = updated("vRef", as_var);
  const Parameter amsgrad = number("amsgrad", "false"), maximize = number("maximize", "false");
  return {describe(
              "aclnnApplyAdamW", aclnnApplyAdamWGetWorkspaceSize, aclnnApplyAdamW,
              {var, m, v, read("beta1Power", as_var), read("beta2Power", as_var), read("lr", as_var),
               read("weightDecay", as_var), read("beta1", as_var), read("beta2", as_var), read("eps", as_var),
               read("grad", as_var), optional(read("maxGradNormOptional", as_var)), amsgrad, maximize}),
          describe("aclnnApplyAdamWV2", aclnnApplyAdamWV2GetWorkspaceSize, aclnnApplyAdamWV2,
                   {var, m, v, optional(updated("maxGradNormOptionalRef", kFloatDtypes)),
                    read("grad", kFloatDtypes), read("step", std::array{ACL_INT64, ACL_FLOAT}),
                    number("lr", "1e-3"), number("beta1", "0.9"), number("beta2", "0.999"),
                    number("weightDecay", "0"), number("eps", "1e-8"), amsgrad, maximize})};
}

}  // namespace openaclnn_verify
