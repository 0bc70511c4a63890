// The interface of ApplyFusedEmaAdamList.
#pragma once

#include <vector>

#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/apply_fused_ema_adam/verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> apply_fused_ema_adam_list_descriptions() {
  using namespace parameters;
  return {describe(
      "openaclnnApplyFusedEmaAdamList", openaclnnApplyFusedEmaAdamListGetWorkspaceSize,
      openaclnnApplyFusedEmaAdamList,
      with_ema_adam_attributes({read("grads"), updated("varRefs"), updated("mRefs"), updated("vRefs"),
                                updated("sRefs"), optional(updated("varCopiesOptional")), read("step"),
                                optional(read("gradScaleOptional")), optional(read("foundInfOptional"))}))};
}

}  // namespace openaclnn_verify
