// Declares the prototypes of aclnnNsaCompressGrad again, as callers were compiled with them: wrong types do
// not compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnNsaCompressGradGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, const aclIntArray*,
                                   int64_t, int64_t, int64_t, char*, const aclTensor*, const aclTensor*,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompressGrad), Phase2>);

}  // namespace openaclnn_test
