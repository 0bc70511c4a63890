// Executors: carry a call from phase 1 to phase 2.
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

// Guarded by its table. The phase 2 call that uses a one-shot executor removes it.
struct Executor {
  std::shared_ptr<const Call> call;
  std::array<void*, kMaxParameters> data = {};  // current addresses, in the order of the parameters
  RecycledVector<void*> element_data;           // of the lists, in the order of Call::elements
  std::shared_ptr<const ListIo> lists;          // the same addresses for tasks; nullptr after a change
  bool repeatable = false;
};

using ExecutorTable = HandleTable<Executor, HandleKind::executor>;

// Registers a new one-shot executor. Fails (561000) if the call has more parameters than a task can hold.
Result<aclOpExecutor*> make_executor(Call&& call);

// The data of one phase 2 call. It does not change if another thread updates or destroys the executor.
struct Snapshot {
  std::shared_ptr<const Call> call;
  std::array<void*, kMaxParameters> data;
  std::shared_ptr<const ListIo> lists;  // nullptr without list elements
};

// Returns the data that phase 2 of `op` needs, and consumes the executor if it is one-shot. Fails with 561000
// if the executor is not live. Fails with 161002 if another operator made it, and consumes it nevertheless.
Result<Snapshot> use_executor(const Operator& op, aclOpExecutor* executor);

enum class ParameterSet { all, inputs, outputs };

// aclSet…TensorAddr: changes the address of parameter `index` within the set, in the executor and in the
// tensor object.
Status set_tensor_address(aclOpExecutor* executor, ParameterSet set, size_t index, aclTensor* tensor,
                          void* address);

// aclSetDynamic…TensorAddr: the same for tensor `element` of list parameter `index`. `list` holds the tensor
// object.
Status set_element_address(aclOpExecutor* executor, ParameterSet set, size_t index, size_t element,
                           aclTensorList* list, void* address);

Status set_repeatable(aclOpExecutor* executor);
Status destroy_executor(aclOpExecutor* executor);

// Destroys the one-shot executors that never ran.
void release_fresh_executors();

}  // namespace openaclnn
