// Declares the prototypes of aclnnApplyFusedEmaAdam again, as callers were compiled with them: wrong types do
// not compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnApplyFusedEmaAdamGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, aclTensor*, aclTensor*, aclTensor*, aclTensor*,
                                   const aclTensor*, double, double, double, double, double, int64_t, bool,
                                   double, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyFusedEmaAdam), Phase2>);

}  // namespace openaclnn_test
