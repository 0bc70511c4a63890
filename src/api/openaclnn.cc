// openaclnn*: what serves no operator of its own.
#include "openaclnn/openaclnn.h"

#include "openaclnn/status.h"
#include "runtime/guard.h"

using namespace openaclnn;

aclnnStatus openaclnnReportMissing(const char* function) {
  return guard(function != nullptr ? function : "unknown function", kMetaWall, []() -> Status {
    return {ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
            "openaclnn does not have this operator; README.md lists those that it has"};
  });
}
