// Implements acl* and aclnn*: executors, the no-op initialisers, and the no-op cache hooks that callers look
// up by name.
#include "acl/acl_rt.h"
#include "aclnn/aclnn_base.h"
#include "runtime/executor.h"
#include "runtime/guard.h"
#include "runtime/tensor_dump.h"

using namespace openaclnn;

namespace {

aclnnStatus set_address(const char* function, ParameterSet set, aclOpExecutor* executor, size_t index,
                        aclTensor* tensor, void* addr) {
  return guard(function, kMetaWall, [&] { return set_tensor_address(executor, set, index, tensor, addr); });
}

aclnnStatus set_list_address(const char* function, ParameterSet set, aclOpExecutor* executor, size_t index,
                             size_t element, aclTensorList* tensors, void* addr) {
  return guard(function, kMetaWall,
               [&] { return set_element_address(executor, set, index, element, tensors, addr); });
}

}  // namespace

aclnnStatus aclnnInit(const char* configPath) {
  (void)configPath;
  return 0;
}

aclnnStatus aclnnFinalize(void) { return 0; }

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return guard(__func__, kMetaWall, [&] { return set_repeatable(executor); });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return guard(__func__, kMetaWall, [&] { return destroy_executor(executor); });
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return set_address(__func__, ParameterSet::all, executor, index, tensor, addr);
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return set_address(__func__, ParameterSet::inputs, executor, index, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return set_address(__func__, ParameterSet::outputs, executor, index, tensor, addr);
}

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::all, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::inputs, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::outputs, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
  return set_address(__func__, ParameterSet::all, executor, index, tensor, addr);
}

aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return set_address(__func__, ParameterSet::inputs, executor, index, tensor, addr);
}

aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return set_address(__func__, ParameterSet::outputs, executor, index, tensor, addr);
}

aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                    aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::all, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                         aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::inputs, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t relativeIndex,
                                          aclTensorList* tensors, void* addr) {
  return set_list_address(__func__, ParameterSet::outputs, executor, irIndex, relativeIndex, tensors, addr);
}

aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors,
                             size_t inputTensorNum, size_t outputTensorNum, aclrtStream stream) {
  return guard(__func__, kLaunchWall, [&] {
    return dump_op_tensors(opType, opName, tensors, inputTensorNum, outputTensorNum, stream);
  });
}

// Callers look up these functions by name around every operator call. They do nothing, because there is no
// cache.
extern "C" {
ACL_FUNC_VISIBILITY int InitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void UnInitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void ReleaseHugeMem(void* argument, bool sync);
}

int InitHugeMemThreadLocal(void*, bool) { return 0; }
void UnInitHugeMemThreadLocal(void*, bool) {}
void ReleaseHugeMem(void*, bool) {}
