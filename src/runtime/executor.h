// Executors: what phase 1 hands to phase 2, from their creation to their end.
#pragma once

#include <array>
#include <memory>

#include "aclnn/aclnn_base.h"
#include "base/kernel_io.h"
#include "base/status.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/handle.h"
#include "runtime/recycle.h"

namespace openaclnn {

// Guarded by its table: a one-shot executor is removed by the phase-2 call that gets it.
struct Executor {
  std::shared_ptr<const Call> call;
  std::array<void*, kMaxParameters> data = {};  // current addresses, in the order of the parameters
  RecycledVector<void*> element_data;           // of the lists, in the order of Call::elements
  std::shared_ptr<const ListIo> lists;          // the same for tasks; nullptr after an address changed
  bool repeatable = false;
};

using ExecutorTable = HandleTable<Executor, HandleKind::executor>;

// Registers a fresh one-shot executor. Fails (561000) when the call has more parameters than tasks have places.
Result<aclOpExecutor*> make_executor(Call&& call);

// What one phase-2 call works on: nothing of it changes when another thread updates or destroys the executor.
struct Snapshot {
  std::shared_ptr<const Call> call;
  std::array<void*, kMaxParameters> data;
  std::shared_ptr<const ListIo> lists;  // nullptr without list elements
};

// Takes what phase 2 of `op` needs, and consumes the executor when it is one-shot. Fails (561000) when the executor is not live,
// and (161002) when another operator made it; that one is consumed as well.
Result<Snapshot> use_executor(const Operator& op, aclOpExecutor* executor);

enum class ParameterSet { all, inputs, outputs };

// aclSet…TensorAddr: changes the address of the executor's parameter `index` within the set, and of the tensor object.
Status set_tensor_address(aclOpExecutor* executor, ParameterSet set, size_t index, aclTensor* tensor,
                          void* address);

// aclSetDynamic…TensorAddr: likewise for tensor `element` of the list parameter `index`; `list` is the tensor object's.
Status set_element_address(aclOpExecutor* executor, ParameterSet set, size_t index, size_t element,
                           aclTensorList* list, void* address);

Status set_repeatable(aclOpExecutor* executor);
Status destroy_executor(aclOpExecutor* executor);

// Frees the one-shot executors that never ran.
void release_fresh_executors();

}  // namespace openaclnn
