// Declares the prototypes of openaclnnApplyFusedEmaAdamList again, as callers were compiled with them: wrong
// types do not compile.
#include "abi/prototypes.h"
#include "openaclnn/apply_fused_ema_adam_list.h"

namespace openaclnn_test {

static_assert(
    same<decltype(&openaclnnApplyFusedEmaAdamListGetWorkspaceSize),
         aclnnStatus (*)(const aclTensorList*, aclTensorList*, aclTensorList*, aclTensorList*, aclTensorList*,
                         aclTensorList*, const aclTensor*, const aclTensor*, const aclTensor*, double, double,
                         double, double, double, int64_t, bool, double, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&openaclnnApplyFusedEmaAdamList), Phase2>);

}  // namespace openaclnn_test
