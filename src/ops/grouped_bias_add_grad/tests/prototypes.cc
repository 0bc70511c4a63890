// Declares the prototypes of aclnnGroupedBiasAddGrad again, as callers were compiled with them: wrong types
// do not compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"

namespace openaclnn_test {

static_assert(
    same<decltype(&aclnnGroupedBiasAddGradGetWorkspaceSize),
         aclnnStatus (*)(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnGroupedBiasAddGrad), Phase2>);
static_assert(same<decltype(&aclnnGroupedBiasAddGradV2GetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, int64_t, aclTensor*, uint64_t*,
                                   aclOpExecutor**)>);
static_assert(same<decltype(&aclnnGroupedBiasAddGradV2), Phase2>);

}  // namespace openaclnn_test
