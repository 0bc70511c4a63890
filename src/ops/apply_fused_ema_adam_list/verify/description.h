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
      with_ema_adam_attributes({may_equal_output(read("grads", kFloatDtypes)),
                                updated("varRefs", kFloatDtypes), updated("mRefs", kFloatDtypes),
                                updated("vRefs", dtype_of("mRefs")), updated("sRefs", dtype_of("mRefs")),
                                optional(updated("varCopiesOptional", kHalfDtypes)), read("step", ACL_INT64),
                                optional(read("gradScaleOptional", ACL_FLOAT)),
                                optional(read("foundInfOptional", ACL_FLOAT))}))};
}

}  // namespace openaclnn_verify
