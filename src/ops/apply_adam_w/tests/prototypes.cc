// Declares the prototypes of aclnnApplyAdamW again, as callers were compiled with them: wrong types do not
// compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnApplyAdamWGetWorkspaceSize),
                   aclnnStatus (*)(aclTensor*, aclTensor*, aclTensor*, const aclTensor*, const aclTensor*,
                                   const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                   const aclTensor*, const aclTensor*, const aclTensor*, bool, bool,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyAdamW), Phase2>);
static_assert(
    same<decltype(&aclnnApplyAdamWV2GetWorkspaceSize),
         aclnnStatus (*)(aclTensor*, aclTensor*, aclTensor*, aclTensor*, const aclTensor*, const aclTensor*,
                         float, float, float, float, float, bool, bool, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyAdamWV2), Phase2>);

}  // namespace openaclnn_test
