// Operators of CANN that openaclnn does not have, but without whose names some programs refuse to load an operator library. They
// are in the stub libraries only: whoever calls one gets a code and a sentence.
#include "aclnn/aclnn_base.h"
#include "openaclnn/openaclnn.h"

// Arguments stay where the caller put them: in the C calling conventions of all supported machines a function may ignore them.
#define MISSING(function)                                \
  extern "C" ACL_FUNC_VISIBILITY aclnnStatus function(); \
  aclnnStatus function() { return openaclnnReportMissing(#function); }

MISSING(aclnnAdd)
MISSING(aclnnAddGetWorkspaceSize)
MISSING(aclnnMul)
MISSING(aclnnMulGetWorkspaceSize)
MISSING(aclnnReduceSum)
MISSING(aclnnReduceSumGetWorkspaceSize)
MISSING(aclnnRelu)
MISSING(aclnnReluGetWorkspaceSize)
