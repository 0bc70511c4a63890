// Declares the prototypes of aclnnNsaCompressWithCache again, as callers were compiled with them: wrong types
// do not compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnNsaCompressWithCacheGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, const aclIntArray*,
                                   const aclTensor*, char*, int64_t, int64_t, int64_t, int64_t, aclTensor*,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompressWithCache), Phase2>);

}  // namespace openaclnn_test
