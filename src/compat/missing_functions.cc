// Functions of CANN that openaclnn does not have, but without whose names some programs do not link or refuse to load a library.
// They are in the stub libraries only: a call gets a code and an error message.
#include <stddef.h>

#include "aclnn/aclnn_base.h"
#include "openaclnn/openaclnn.h"

// Arguments stay where the caller put them: in the C calling conventions of all supported machines a function may ignore them.
#define MISSING(function)                                \
  extern "C" ACL_FUNC_VISIBILITY aclnnStatus function(); \
  aclnnStatus function() { return openaclnnReportMissing(#function); }

// Returns 0 or NULL, because the caller would read a code as a size or a pointer.
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

// libacl_op_compiler.so: operators that are compiled and run by their type's name.
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
