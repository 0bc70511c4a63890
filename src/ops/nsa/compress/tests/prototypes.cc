// Declares the prototypes of aclnnNsaCompress again, as callers were compiled with them: wrong types do not
// compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_nsa_compress.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnNsaCompressGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclIntArray*, char*, int64_t,
                                   int64_t, int64_t, aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompress), Phase2>);

}  // namespace openaclnn_test
