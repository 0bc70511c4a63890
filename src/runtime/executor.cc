// The life cycle of executors, and phase 2.
#include "runtime/executor.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/address_faults.h"
#include "runtime/memory.h"
#include "runtime/stream.h"
#include "runtime/tensor.h"

namespace openaclnn {

namespace {

// What one phase-2 call works on: nothing of it changes when another thread updates or destroys the executor.
struct Snapshot {
  std::shared_ptr<const Call> call;
  std::array<void*, kMaxParameters> data;
  std::shared_ptr<const ListIo> lists;  // nullptr without list elements

  size_t size() const { return call->parameters.size(); }
  const Parameter& parameter(size_t k) const { return call->parameters[k]; }
  TensorView view(size_t k) const {
    TensorView view = parameter(k).view;
    view.data = data[k];
    return view;
  }
  MemoryRange memory(size_t k) const {
    const ByteRange& bytes = parameter(k).bytes;
    return {static_cast<const char*>(data[k]) + bytes.begin, static_cast<size_t>(bytes.end - bytes.begin)};
  }
};

// Ranges that share no byte belong to tensors that do not overlap: the common answer, without a look at the strides.
bool meet(const MemoryRange& a, const MemoryRange& b) {
  const uintptr_t begin_a = reinterpret_cast<uintptr_t>(a.begin);
  const uintptr_t begin_b = reinterpret_cast<uintptr_t>(b.begin);
  return begin_b - begin_a < a.bytes || begin_a - begin_b < b.bytes;
}

Status stale_executor(const void* handle) {
  return {ACLNN_ERR_INNER, text("executor is not live (", address_text(handle),
                                "): it was consumed by phase 2, destroyed, or never returned by phase 1")};
}

// P2, P3: finds the executor and consumes it when it is one-shot, also when the operator is the wrong one.
Result<Snapshot> take_snapshot(const Operator& op, aclOpExecutor* handle) {
  ExecutorTable& table = ExecutorTable::instance();
  Snapshot snapshot;
  const auto copy = [&](Executor& executor) {
    if (!executor.element_data.empty() && executor.lists == nullptr)
      executor.lists = make_list_io(*executor.call, executor.element_data);
    snapshot = {executor.call, executor.data, executor.lists};
  };
  // Of several calls on a one-shot executor, the one that removes it runs. What is live but not removed is repeatable, for good.
  if (const auto taken =
          table.remove_if(handle, [](const Executor& executor) { return !executor.repeatable; })) {
    copy(*taken);
  } else {
    table.with(handle, [&](const std::shared_ptr<Executor>& executor) { copy(*executor); });
  }
  if (snapshot.call == nullptr) return stale_executor(handle);
  if (snapshot.call->op != &op) {
    return Status(ACLNN_ERR_PARAM_INVALID,
                  text("executor was made by ", snapshot.call->op->name,
                       "GetWorkspaceSize; it must be run by ", snapshot.call->op->name));
  }
  return snapshot;
}

// P9, P10.
Status check_addresses(const Snapshot& snapshot) {
  for (size_t k = 0; k < snapshot.size(); ++k) {
    if (snapshot.parameter(k).is_accessed && snapshot.data[k] == nullptr)
      return null_data(snapshot.parameter(k).name);
  }
  for (size_t k = 0; k < snapshot.size(); ++k) {
    const TensorView& view = snapshot.parameter(k).view;
    if (snapshot.parameter(k).is_accessed && is_misaligned(snapshot.data[k], view.element_bytes()))
      return misaligned_data(snapshot.parameter(k).name, snapshot.data[k], view.dtype);
  }
  return {};
}

// The workspace as a view, so that it takes part in the overlap check.
TensorView workspace_view(void* workspace, uint64_t bytes) {
  TensorView view;
  view.data = workspace;
  view.dtype = ACL_UINT8;
  view.rank = 1;
  view.dims[0] = static_cast<int64_t>(bytes);
  view.strides[0] = 1;
  return view;
}

// P11.
Status check_overlap(const Snapshot& snapshot, void* workspace) {
  const Call& call = *snapshot.call;
  for (size_t out = 0; out < snapshot.size(); ++out) {
    if (!snapshot.parameter(out).is_output || !snapshot.parameter(out).is_accessed) continue;
    const MemoryRange memory = snapshot.memory(out);
    for (size_t other = 0; other < snapshot.size(); ++other) {
      const Parameter& parameter = snapshot.parameter(other);
      // Two outputs are compared once.
      if (other == out || !parameter.is_accessed || (parameter.is_output && other < out)) continue;
      if (!meet(memory, snapshot.memory(other))) continue;
      const TensorView a = snapshot.view(out);
      const TensorView b = snapshot.view(other);
      if (!provably_overlap(a, b) || (parameter.may_equal_output && is_identical(a, b))) continue;
      return overlapping(snapshot.parameter(out).name, parameter.name,
                         parameter.may_equal_output ? "; only the identical view is accepted"
                                                    : "; they must not share memory");
    }
  }
  if (call.workspace_bytes == 0) return {};
  const TensorView scratch = workspace_view(workspace, call.workspace_bytes);
  const MemoryRange scratch_memory = {workspace, call.workspace_bytes};
  for (size_t k = 0; k < snapshot.size(); ++k) {
    if (!snapshot.parameter(k).is_accessed || !meet(scratch_memory, snapshot.memory(k))) continue;
    if (provably_overlap(scratch, snapshot.view(k))) {
      return overlapping("workspace", snapshot.parameter(k).name, "; they must not share memory");
    }
  }
  return {};
}

// P12.
Status check_blocks(const Snapshot& snapshot, void* workspace) {
  const auto require = [](const char* name, const TensorView& view) -> Status {
    const ByteRange range = byte_range(view);
    const char* first = static_cast<const char*>(view.data) + range.begin;
    const size_t bytes = static_cast<size_t>(range.end - range.begin);
    return view.is_empty() || inside_one_block(first, bytes) ? Status() : outside_blocks(name, bytes);
  };
  for (size_t k = 0; k < snapshot.size(); ++k) {
    if (snapshot.parameter(k).is_accessed)
      OPENACLNN_TRY(require(snapshot.parameter(k).name, snapshot.view(k)));
  }
  if (snapshot.call->workspace_bytes == 0) return {};
  return require("workspace", workspace_view(workspace, snapshot.call->workspace_bytes));
}

// P9 to P12 for calls without lists.
Status check_tensors(const Snapshot& snapshot, void* workspace, bool strict) {
  OPENACLNN_TRY(check_addresses(snapshot));
  OPENACLNN_TRY(check_overlap(snapshot, workspace));
  return strict ? check_blocks(snapshot, workspace) : Status();
}

Task make_task(const Snapshot& snapshot, void* workspace) {
  const Call& call = *snapshot.call;
  Task task;
  task.name = call.op->name;
  task.run = call.op->kernel();
  task.describe = call.op->describe;
  task.plan = call.plan;
  task.data = snapshot.data;
  task.workspace = workspace;
  task.check = environment().check;
  task.work_bytes = call.work_bytes + static_cast<double>(call.workspace_bytes);
  size_t outputs = 0;
  for (size_t k = 0; k < snapshot.size(); ++k) {
    if (snapshot.parameter(k).is_written_tensor()) task.written[outputs++] = snapshot.memory(k);
  }
  task.lists = snapshot.lists;
  return task;
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

namespace {

// launch() comes back for the call itself, of which there is one copy only, as fast as if nothing could be recorded.
thread_local bool is_being_recorded = false;

// What is recorded of a failure needs the executor as it was before the call.
[[gnu::noinline, gnu::cold]] Status launch_recorded(const Operator& op, void* workspace,
                                                    uint64_t workspace_bytes, aclOpExecutor* executor,
                                                    aclrtStream stream) {
  std::optional<Executor> before;
  quietly([&] {
    ExecutorTable::instance().with(executor, [&](const std::shared_ptr<Executor>& live) {
      if (live->call->record != nullptr) before = *live;
    });
  });
  struct Recorded {
    Recorded() { is_being_recorded = true; }
    ~Recorded() { is_being_recorded = false; }
  };
  const auto phase = [&] {
    const Recorded now;
    return launch(op, workspace, workspace_bytes, executor, stream);
  };
  return record_phase2(before ? &*before : nullptr, op.name, std::ref(phase));
}

}  // namespace

Status launch(const Operator& op, void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
              aclrtStream stream) {
  if (is_recording()) [[unlikely]] {
    if (!is_being_recorded) return launch_recorded(op, workspace, workspace_bytes, executor, stream);
  }
  if (executor == nullptr) {
    return {ACLNN_ERR_PARAM_NULLPTR,
            text("executor is NULL; pass the one that ", op.name, "GetWorkspaceSize returned")};
  }
  Result<Snapshot> snapshot = take_snapshot(op, executor);
  if (!snapshot.ok()) return snapshot.status();
  const Call& call = *snapshot->call;

  Result<std::shared_ptr<Stream>> target = find_stream_of_device(stream);
  if (!target.ok()) return target.status();
  if (workspace == nullptr && call.workspace_bytes > 0) {
    return {ACLNN_ERR_PARAM_NULLPTR,
            text("workspace is NULL but ", call.workspace_bytes, " bytes are required")};
  }
  if (workspace_bytes < call.workspace_bytes) {
    return {ACLNN_ERR_PARAM_INVALID,
            text("workspaceSize is ", workspace_bytes, " but ", call.workspace_bytes, " bytes are required")};
  }
  const Environment& env = environment();
  const bool strict = env.check == CheckMode::strict;
  OPENACLNN_TRY(call.elements.empty()
                    ? check_tensors(*snapshot, workspace, strict)
                    : check_lists(call, {snapshot->data, snapshot->lists, workspace}, strict));
  if (call.nothing_to_do) return {};

  Task task = make_task(*snapshot, workspace);
  if (is_recording()) [[unlikely]]
    record_task(task, snapshot->call, (*target)->number);
  return submit(**target, std::move(task), env.blocking || strict);
}

namespace {

Status check_given(const aclOpExecutor* executor, const void* object, const char* sentence) {
  if (executor == nullptr)
    return {ACLNN_ERR_INNER_NULLPTR, "executor is NULL; pass one that phase 1 returned"};
  if (object == nullptr) return {ACLNN_ERR_INNER_NULLPTR, sentence};
  return {};
}

// The number of the parameter at `index` within the set; in the whole set the inputs come first, then the outputs.
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
  return Status(ACLNN_ERR_PARAM_INVALID,
                text(index_name, " is ", index, "; ", call.op->name, " was planned with ", count, what,
                     call.has_lists() ? " tensors and lists" : " tensors", ", so it must be below ", count));
}

Status wrong_kind(const Parameter& parameter, const char* index_name, size_t index) {
  return {ACLNN_ERR_PARAM_INVALID, text(index_name, " is ", index, ", which is ", parameter.name,
                                        parameter.is_list ? ", a list; use aclSetDynamicTensorAddr"
                                                          : ", no list; use aclSetTensorAddr")};
}

// Sets the address in the executor by change(executor) and then in the tensor object. Everything that can fail comes before the
// first change.
template <class Change>
Status set_both(aclOpExecutor* executor, const aclTensor* tensor, std::shared_ptr<const Tensor> described,
                void* address, const Change& change) {
  const auto with_address = [&](const Tensor& old) {
    auto updated = std::make_shared<Tensor>(old);
    updated->view.data = address;
    return updated;
  };
  std::shared_ptr<const Tensor> updated = with_address(*described);
  const bool live = ExecutorTable::instance().with(
      executor, [&](std::shared_ptr<Executor>& live_object) { change(*live_object); });
  if (!live) return stale_executor(executor);
  while (!exchange_tensor(tensor, described, updated)) {
    described = TensorTable::instance().find(tensor);
    if (described == nullptr) break;  // destroyed by another thread meanwhile
    updated = with_address(*described);
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
    return {ACLNN_ERR_PARAM_INVALID, "tensor is not live; pass a tensor that aclCreateTensor returned"};
  }
  const Result<size_t> at = parameter_at(*object->call, set, "index", index);
  if (!at.ok()) return at.status();
  if (object->call->parameters[*at].is_list) return wrong_kind(object->call->parameters[*at], "index", index);
  return set_both(executor, tensor, std::move(described), address, [&](Executor& live) {
    live.data[*at] = address;
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
    return {ACLNN_ERR_PARAM_INVALID, "tensors is not live; pass a list that aclCreateTensorList returned"};
  }
  const Call& call = *object->call;
  if (!call.has_lists()) {
    return {ACLNN_ERR_PARAM_INVALID,
            text("irIndex is ", index, "; ", call.op->name, " has no tensor-list parameter")};
  }
  const Result<size_t> at = parameter_at(call, set, "irIndex", index);
  if (!at.ok()) return at.status();
  const Parameter& parameter = call.parameters[*at];
  if (!parameter.is_list) return wrong_kind(parameter, "irIndex", index);
  if (element >= parameter.element_count || element >= tensors->elements.size()) {
    return {ACLNN_ERR_PARAM_INVALID,
            text("relativeIndex is ", element, "; ", parameter.name, " was planned with ",
                 parameter.element_count, " tensors and tensors holds ", tensors->elements.size())};
  }
  const auto* const tensor = static_cast<const aclTensor*>(tensors->elements[element]);
  std::shared_ptr<const Tensor> described = TensorTable::instance().find(tensor);
  if (described == nullptr)
    return {ACLNN_ERR_PARAM_INVALID, text("tensors[", element, "] is not live: it was destroyed")};
  return set_both(executor, tensor, std::move(described), address, [&](Executor& live) {
    live.element_data[parameter.first_element + element] = address;
    live.lists = nullptr;
  });
}

Status set_repeatable(aclOpExecutor* executor) {
  if (executor == nullptr)
    return {ACLNN_ERR_INNER_NULLPTR, "executor is NULL; pass one that phase 1 returned"};
  const bool live = ExecutorTable::instance().with(
      executor, [](std::shared_ptr<Executor>& object) { object->repeatable = true; });
  return live ? Status() : stale_executor(executor);
}

Status destroy_executor(aclOpExecutor* executor) {
  if (executor == nullptr)
    return {ACLNN_ERR_INNER_NULLPTR, "executor is NULL; pass one that phase 1 returned"};
  return ExecutorTable::instance().remove(executor) != nullptr ? Status() : stale_executor(executor);
}

void release_fresh_executors() {
  ExecutorTable::instance().remove_where([](const Executor& executor) { return !executor.repeatable; },
                                         [](const auto&) {});
}

}  // namespace openaclnn
