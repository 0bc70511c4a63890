// The prototypes of extensions that belong to no operator, as callers were compiled against them: wrong types do not compile.
#include "abi/prototypes.h"
#include "openaclnn/openaclnn.h"

namespace openaclnn_test {

static_assert(same<decltype(&openaclnnReleaseMemory), aclError (*)()>);
static_assert(same<decltype(&openaclnnCreateStreamFromNative), aclError (*)(void*, aclrtStream*)>);

}  // namespace openaclnn_test
