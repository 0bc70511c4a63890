// Declares the prototypes of aclnnEmbeddingDenseBackward again, as callers were compiled with them: wrong
// types do not compile.
#include "abi/prototypes.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"

namespace openaclnn_test {

static_assert(same<decltype(&aclnnEmbeddingDenseBackwardGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, uint64_t, uint64_t, bool,
                                   const aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnEmbeddingDenseBackward), Phase2>);

}  // namespace openaclnn_test
