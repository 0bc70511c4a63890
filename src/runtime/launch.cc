// Implements phase 2: converts an executor to a task of a stream.
#include "runtime/launch.h"

#include <functional>
#include <memory>
#include <optional>

#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/addresses.h"
#include "runtime/call_dump.h"
#include "runtime/executor.h"
#include "runtime/recorder.h"
#include "runtime/stream.h"

namespace openaclnn {

namespace {

Task make_task(const char* function, const Snapshot& snapshot, void* workspace) {
  const Call& call = *snapshot.call;
  Task task;
  task.name = function;
  task.op = call.op->name;
  task.run = call.op->kernel();
  task.describe = call.op->describe;
  task.plan = call.plan;
  task.data = snapshot.data;
  task.workspace = workspace;
  task.check = environment().check;
  task.work_bytes = call.work_bytes + static_cast<double>(call.workspace_bytes);
  size_t outputs = 0;
  for (size_t k = 0; k < call.parameters.size(); ++k) {
    const Parameter& parameter = call.parameters[k];
    if (parameter.is_written_tensor()) task.written[outputs++] = memory_at(snapshot.data[k], parameter.bytes);
  }
  task.lists = snapshot.lists;
  return task;
}

[[gnu::noinline, gnu::cold]] Status submit_recorded(const Snapshot& snapshot, const Stream& stream,
                                                    Task&& task, bool waits) {
  record_task(task, snapshot.call, stream.number);
  const std::shared_ptr<CallDump> dump = dump_inputs(snapshot, stream);
  Status status = submit(stream, std::move(task), waits);
  // The task of a call with bad data has run.
  if (status.ok() || status.code() == ACL_ERROR_RT_VECTOR_CORE_EXCEPTION) dump_outputs(dump, stream);
  return status;
}

Status run_phase2(const char* function, const Operator& op, void* workspace, uint64_t workspace_bytes,
                  aclOpExecutor* executor, aclrtStream stream) {
  if (executor == nullptr) {
    return {ACLNN_ERR_PARAM_NULLPTR,
            text("executor is NULL; pass the one that ", function, "GetWorkspaceSize returned")};
  }
  OPENACLNN_TRY_ASSIGN(snapshot, use_executor(op, executor));
  const Call& call = *snapshot.call;

  OPENACLNN_TRY_ASSIGN(target, find_stream_of_device(stream));
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
  OPENACLNN_TRY(check_addresses(call, {snapshot.data, snapshot.lists.get(), workspace}, strict));
  if (call.nothing_to_do) return {};

  Task task = make_task(function, snapshot, workspace);
  const bool waits = env.blocking || strict;
  if (is_recording()) [[unlikely]]
    return submit_recorded(snapshot, *target, std::move(task), waits);
  return submit(*target, std::move(task), waits);
}

// The recorder of a failure needs the executor's state before the call.
[[gnu::noinline, gnu::cold]] Status launch_recorded(const char* function, const Operator& op, void* workspace,
                                                    uint64_t workspace_bytes, aclOpExecutor* executor,
                                                    aclrtStream stream) {
  std::optional<Executor> before;
  quietly([&] {
    ExecutorTable::instance().with(executor, [&](const std::shared_ptr<Executor>& live) {
      if (live->call->record != nullptr) before = *live;
    });
  });
  DumpedData data;
  if (before) data = {before->call.get(), &before->data, before->element_data.data()};
  const auto phase = [&] { return run_phase2(function, op, workspace, workspace_bytes, executor, stream); };
  return record_phase2(data, function, std::ref(phase));
}

}  // namespace

Status launch(const char* function, const Operator& op, void* workspace, uint64_t workspace_bytes,
              aclOpExecutor* executor, aclrtStream stream) {
  if (is_recording()) [[unlikely]]
    return launch_recorded(function, op, workspace, workspace_bytes, executor, stream);
  return run_phase2(function, op, workspace, workspace_bytes, executor, stream);
}

}  // namespace openaclnn
