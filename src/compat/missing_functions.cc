// Stubs of CANN functions that openaclnn does not have, but that some programs need to link or to accept a
// library. Only the stub libraries contain them. Calling one adds an error message and returns a code.
#include <stddef.h>

#include "aclnn/aclnn_base.h"
#include "openaclnn/openaclnn.h"

// Stubs ignore their arguments, which the C calling conventions of all supported machines allow.
#define MISSING(function)                                \
  extern "C" ACL_FUNC_VISIBILITY aclnnStatus function(); \
  aclnnStatus function() { return openaclnnReportMissing(#function); }

// Returns 0 or NULL, because the caller would use a code as a size or a pointer.
#define MISSING_WITH_RESULT(Result, function)       \
  extern "C" ACL_FUNC_VISIBILITY Result function(); \
  Result function() {                               \
    (void)openaclnnReportMissing(#function);        \
    return {};                                      \
  }

// Operators that programs look for before they accept a library.
MISSING(aclnnAdd)
MISSING(aclnnAddGetWorkspaceSize)
MISSING(aclnnMul)
MISSING(aclnnMulGetWorkspaceSize)
MISSING(aclnnReduceSum)
MISSING(aclnnReduceSumGetWorkspaceSize)
MISSING(aclnnRelu)
MISSING(aclnnReluGetWorkspaceSize)

// libacl_op_compiler.so: operators that are compiled and run by the name of their type.
MISSING(aclGenGraphAndDumpForOp)
MISSING(aclGetCompileopt)
MISSING(aclSetCompileopt)
MISSING(aclDestroyGraphDumpOpt)
MISSING(aclopCompile)
MISSING(aclopCompileAndExecute)
MISSING(aclopCompileAndExecuteV2)
MISSING(aclopExecuteV2)
MISSING(aclopSetCompileFlag)
MISSING_WITH_RESULT(size_t, aclGetCompileoptSize)
MISSING_WITH_RESULT(void*, aclCreateGraphDumpOpt)
