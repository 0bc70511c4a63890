// Declares the prototypes of aclnnEmbedding again, as callers were compiled with them: wrong types do not
// compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_embedding.h"

namespace openaclnn_test {

static_assert(
    same<decltype(&aclnnEmbeddingGetWorkspaceSize),
         aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnEmbedding), Phase2>);

}  // namespace openaclnn_test
