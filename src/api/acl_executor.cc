// acl*, aclnn*: executors, the no-op initialisers, and the no-op cache hooks that callers look up by name.
#include "acl/acl_rt.h"
#include "aclnn/aclnn_base.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/executor.h"
#include "runtime/guard.h"

using namespace openaclnn;

namespace {

aclnnStatus set_address(const char* function, ParameterSet set, aclOpExecutor* executor, size_t index,
                        aclTensor* tensor, void* addr) {
  return guard(function, kMetaWall, [&] { return set_tensor_address(executor, set, index, tensor, addr); });
}

// No operator has a list parameter, so these functions can only say what is wrong.
aclnnStatus set_list_address(const char* function, aclOpExecutor* executor, size_t index,
                             const aclTensorList* tensors) {
  return guard(function, kMetaWall, [&]() -> Status {
    if (executor == nullptr)
      return {ACLNN_ERR_INNER_NULLPTR, "executor is NULL; pass one that phase 1 returned"};
    if (tensors == nullptr) return {ACLNN_ERR_INNER_NULLPTR, "tensors is NULL; pass a tensor list"};
    const std::shared_ptr<Executor> object = ExecutorTable::instance().find(executor);
    if (object == nullptr)
      return {ACLNN_ERR_INNER, "executor is not live: it was consumed by phase 2 or destroyed"};
    return {ACLNN_ERR_PARAM_INVALID,
            text("irIndex is ", index, "; ", object->call->op->name, " has no tensor-list parameter")};
  });
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

aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                    aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
}

aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                         aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
}

aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                          aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
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

aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                    aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
}

aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                         aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
}

aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t irIndex, const size_t,
                                          aclTensorList* tensors, void*) {
  return set_list_address(__func__, executor, irIndex, tensors);
}

aclnnStatus aclDumpOpTensors(const char*, const char*, aclTensor**, size_t, size_t, aclrtStream) { return 0; }

// Callers look these up by name around every operator call; there is no cache to prepare here.
extern "C" {
ACL_FUNC_VISIBILITY int InitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void UnInitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void ReleaseHugeMem(void* argument, bool sync);
}

int InitHugeMemThreadLocal(void*, bool) { return 0; }
void UnInitHugeMemThreadLocal(void*, bool) {}
void ReleaseHugeMem(void*, bool) {}
