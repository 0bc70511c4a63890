// The life cycle of executors: creation, use, address changes, destruction.
#include "runtime/executor.h"

#include <optional>

#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/addresses.h"
#include "runtime/tensor.h"

namespace openaclnn {

namespace {

Status stale_executor(const void* handle) {
  return {ACLNN_ERR_INNER, text("executor is not live (", address_text(handle),
                                "): it was consumed by phase 2, destroyed, or never returned by phase 1")};
}

}  // namespace

Result<aclOpExecutor*> make_executor(Call&& call) {
  if (!call.has_places()) [[unlikely]]
    return call.lacks_places();
  auto executor = make_recycled<Executor>();
  for (size_t k = 0; k < call.parameters.size(); ++k) executor->data[k] = call.parameters[k].view.data;
  executor->element_data = call.elements.take_addresses();
  executor->call = make_recycled<const Call>(std::move(call));
  void* handle = ExecutorTable::instance().insert(std::move(executor));
  if (handle == nullptr) {
    return Status(ACLNN_ERR_INNER_CREATE_EXECUTOR,
                  "EL0004 Failed to allocate an executor: every executor number is in use");
  }
  return static_cast<aclOpExecutor*>(handle);
}

Result<Snapshot> use_executor(const Operator& op, aclOpExecutor* handle) {
  ExecutorTable& table = ExecutorTable::instance();
  Snapshot snapshot;
  const auto copy = [&](Executor& executor) {
    if (!executor.element_data.empty() && executor.lists == nullptr)
      executor.lists = make_list_io(*executor.call, executor.element_data);
    snapshot = {executor.call, executor.data, executor.lists};
  };
  // If several threads use a one-shot executor, only the call that removes it runs. A live executor that was
  // not removed is repeatable, and stays so.
  if (const auto taken =
          table.remove_if(handle, [](const Executor& executor) { return !executor.repeatable; })) {
    copy(*taken);
  } else {
    table.with(handle, [&](const std::shared_ptr<Executor>& executor) { copy(*executor); });
  }
  if (snapshot.call == nullptr) return stale_executor(handle);
  if (snapshot.call->op != &op) {
    return Status(ACLNN_ERR_PARAM_INVALID, text("executor was created by ", snapshot.call->phase1,
                                                "; it must be passed to ", snapshot.call->function()));
  }
  return snapshot;
}

namespace {

Status require_executor(const aclOpExecutor* executor) {
  if (executor != nullptr) return {};
  return {ACLNN_ERR_INNER_NULLPTR, "executor is NULL; pass one that phase 1 returned"};
}

Status check_given(const aclOpExecutor* executor, const void* object, const char* sentence) {
  OPENACLNN_TRY(require_executor(executor));
  if (object == nullptr) return {ACLNN_ERR_INNER_NULLPTR, sentence};
  return {};
}

// Returns the number of the parameter at `index` within the set. The whole set counts inputs first, then
// outputs.
Result<size_t> parameter_at(const Call& call, ParameterSet set, const char* index_name, size_t index) {
  size_t count = 0;
  std::optional<size_t> found;
  const auto append = [&](bool Parameter::*belongs) {
    for (size_t k = 0; k < call.parameters.size(); ++k) {
      if (call.parameters[k].*belongs && count++ == index) found = k;
    }
  };
  if (set != ParameterSet::outputs) append(&Parameter::is_input);
  if (set != ParameterSet::inputs) append(&Parameter::is_output);
  if (found) return *found;
  const char* what = set == ParameterSet::inputs ? " input" : set == ParameterSet::outputs ? " output" : "";
  const char* ending = count == 1 ? "" : "s";
  return Status(
      ACLNN_ERR_PARAM_INVALID,
      text(index_name, " is ", index, "; ", call.function(), " was planned with ", count, what, " tensor",
           ending, call.has_lists() ? text(" or list", ending) : "", ", so it must be below ", count));
}

Status wrong_kind(const Parameter& parameter, const char* index_name, size_t index) {
  return {ACLNN_ERR_PARAM_INVALID, text(index_name, " is ", index, ", which is ", parameter.name,
                                        parameter.is_list ? ", a list; use aclSetDynamicTensorAddr"
                                                          : ", not a list; use aclSetTensorAddr")};
}

// Sets the address in the executor with change(executor), then in the tensor object. All steps that can fail
// precede the first change.
template <class Change>
Status set_both(aclOpExecutor* executor, const aclTensor* tensor, std::shared_ptr<const Tensor> described,
                void* address, const Change& change) {
  std::shared_ptr<const Tensor> updated = with_address(*described, address);
  const bool live = ExecutorTable::instance().with(
      executor, [&](std::shared_ptr<Executor>& live_object) { change(*live_object); });
  if (!live) return stale_executor(executor);
  while (!exchange_tensor(tensor, described, updated)) {
    described = TensorTable::instance().find(tensor);
    if (described == nullptr) break;  // another thread destroyed it
    updated = with_address(*described, address);
  }
  return {};
}

}  // namespace

Status set_tensor_address(aclOpExecutor* executor, ParameterSet set, size_t index, aclTensor* tensor,
                          void* address) {
  OPENACLNN_TRY(check_given(executor, tensor, "tensor is NULL; pass a tensor that aclCreateTensor returned"));
  const std::shared_ptr<Executor> object = ExecutorTable::instance().find(executor);
  if (object == nullptr) return stale_executor(executor);
  std::shared_ptr<const Tensor> described = TensorTable::instance().find(tensor);
  if (described == nullptr) {
    return {ACLNN_ERR_PARAM_INVALID, text("tensor is not live (", address_text(tensor),
                                          "); pass a tensor that aclCreateTensor returned")};
  }
  OPENACLNN_TRY_ASSIGN(at, parameter_at(*object->call, set, "index", index));
  if (object->call->parameters[at].is_list) return wrong_kind(object->call->parameters[at], "index", index);
  return set_both(executor, tensor, std::move(described), address, [&](Executor& live) {
    live.data[at] = address;
    live.lists = nullptr;
  });
}

Status set_element_address(aclOpExecutor* executor, ParameterSet set, size_t index, size_t element,
                           aclTensorList* list, void* address) {
  OPENACLNN_TRY(
      check_given(executor, list, "tensors is NULL; pass a list that aclCreateTensorList returned"));
  const std::shared_ptr<Executor> object = ExecutorTable::instance().find(executor);
  if (object == nullptr) return stale_executor(executor);
  const std::shared_ptr<const HandleList> tensors = TensorListTable::instance().find(list);
  if (tensors == nullptr) {
    return {ACLNN_ERR_PARAM_INVALID, text("tensors is not live (", address_text(list),
                                          "); pass a list that aclCreateTensorList returned")};
  }
  const Call& call = *object->call;
  if (!call.has_lists()) {
    return {ACLNN_ERR_PARAM_INVALID,
            text("irIndex is ", index, "; ", call.function(), " has no tensor-list parameter")};
  }
  OPENACLNN_TRY_ASSIGN(at, parameter_at(call, set, "irIndex", index));
  const Parameter& parameter = call.parameters[at];
  if (!parameter.is_list) return wrong_kind(parameter, "irIndex", index);
  if (element >= parameter.element_count || element >= tensors->elements.size()) {
    return {ACLNN_ERR_PARAM_INVALID,
            text("relativeIndex is ", element, "; ", parameter.name, " was planned with ",
                 parameter.element_count, " tensors and tensors holds ", tensors->elements.size())};
  }
  const auto* const tensor = static_cast<const aclTensor*>(tensors->elements[element]);
  std::shared_ptr<const Tensor> described = TensorTable::instance().find(tensor);
  if (described == nullptr)
    return {ACLNN_ERR_PARAM_INVALID,
            text("tensors[", element, "] is not live (", address_text(tensor), "): it was destroyed")};
  return set_both(executor, tensor, std::move(described), address, [&](Executor& live) {
    live.element_data[parameter.first_element + element] = address;
    live.lists = nullptr;
  });
}

Status set_repeatable(aclOpExecutor* executor) {
  OPENACLNN_TRY(require_executor(executor));
  const bool live = ExecutorTable::instance().with(
      executor, [](std::shared_ptr<Executor>& object) { object->repeatable = true; });
  return live ? Status() : stale_executor(executor);
}

Status destroy_executor(aclOpExecutor* executor) {
  OPENACLNN_TRY(require_executor(executor));
  return ExecutorTable::instance().remove(executor) != nullptr ? Status() : stale_executor(executor);
}

void release_fresh_executors() {
  ExecutorTable::instance().remove_where([](const Executor& executor) { return !executor.repeatable; },
                                         [](const auto&) {});
}

}  // namespace openaclnn
