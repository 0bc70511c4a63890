// Passes the arguments and the result of calls to the trace and to dumps.
#include "runtime/recorder.h"

#include "base/dump_setting.h"
#include "runtime/device_failure.h"
#include "runtime/dump_folder.h"
#include "runtime/guard.h"
#include "runtime/trace.h"

namespace openaclnn {

std::atomic<Recording> recording_state{Recording::unknown};

namespace {

void add_tensor(Json& json, const char* name, const std::string& dtype, std::span<const int64_t> dims) {
  json.open('{').field("name", name).field("dtype", dtype).field("shape", dims).close('}');
}

// Adds the tensors that the task accesses. Lists are recorded by their length only, since they may hold
// thousands of tensors.
void add_parameters(Json& json, const Call& call) {
  json.key("tensors").open('[');
  for (const Parameter& parameter : call.parameters) {
    if (parameter.is_list) {
      json.open('{').field("name", parameter.name).field("tensors", parameter.element_count).close('}');
    } else {
      add_tensor(json, parameter.name, dtype_name(parameter.view.dtype), parameter.view.shape());
    }
  }
  json.close(']');
}

// Replaces a task's plan: the original function and plan, and the call that they came from.
struct RecordedTask {
  RunFunction run;
  DescribeFunction describe;
  std::shared_ptr<const void> plan;
  std::shared_ptr<const Call> call;
  uint64_t stream_number;
};

void trace_task(const RecordedTask& task, Clock::time_point begin, Clock::time_point end,
                const Fault& fault) {
  const Call& call = *task.call;
  trace_event(std::string(call.function()), "task", begin, end, [&](Json& json) {
    const double seconds = std::chrono::duration<double>(end - begin).count();
    add_parameters(json, call);
    json.field("bytes", call.work_bytes);
    json.field("GB/s", seconds > 0 ? call.work_bytes / seconds / 1e9 : 0.0);
    json.field("threads", platform().threads).field("isa", platform().instruction_set);
    json.field("stream", task.stream_number);
    if (fault.found()) json.field("fault", task.describe(fault));
  });
}

Fault run_recorded(const void* plan, const TaskIo& io) {
  const RecordedTask& task = *static_cast<const RecordedTask*>(plan);
  const Call& call = *task.call;
  const DumpedData data = {&call, &io.data, io.elements};
  bool is_selected = false;
  quietly([&] { is_selected = is_dumping() && is_selected_for_dump(call); });
  // Dumped before the task runs, because it may overwrite its inputs.
  if (is_selected) quietly([&] { dump_call(*call.record, call.function(), kSelectedReason, data); });
  const Clock::time_point begin = Clock::now();
  const Fault fault = task.run(task.plan.get(), io);
  const Clock::time_point end = Clock::now();
  if (is_tracing()) quietly([&] { trace_task(task, begin, end, fault); });
  // Inputs are never written, and no operator but NsaCompressWithCache writes references if there is a fault. Its
  // cache is saved as the call left it: a copy of every cache beforehand would be too slow.
  if (fault.found() && is_dumping() && !is_selected)
    quietly([&] { dump_call(*call.record, call.function(), task.describe(fault), data); });
  return fault;
}

}  // namespace

bool find_out_recording() {
  bool is_on = is_dumping() || DumpFolder::current() != nullptr;
  quietly([&] { is_on = open_trace() || is_on; });
  // Another thread may have turned recording on.
  Recording before = Recording::unknown;
  recording_state.compare_exchange_strong(before, is_on ? Recording::on : Recording::off);
  return is_on || before == Recording::on;
}

void record_phase1(const CallRecord& record, const Status& status) noexcept {
  const Clock::time_point end = Clock::now();
  quietly([&] {
    if (!status.ok() && is_dumping()) dump_call(record, record.function(), status.sentence(), {});
    if (!is_tracing()) return;
    trace_event(record.function(), "phase 1", record.begin(), end, [&](Json& json) {
      json.key("tensors").open('[');
      for (const RecordedArgument& argument : record.arguments()) {
        if (argument.kind != RecordedArgument::Kind::tensor || !argument.tensors[0].is_live) continue;
        add_tensor(json, argument.name, dtype_name(argument.tensors[0].dtype), argument.tensors[0].dims);
      }
      json.close(']').field("code", status.code());
      if (!status.ok()) json.field("error", status.sentence());
    });
  });
}

namespace {

void record_end(const DumpedData& before, const char* function, Clock::time_point begin,
                const Status& status) noexcept {
  const Clock::time_point end = Clock::now();
  quietly([&] {
    const bool is_refused = !status.ok() && status.code() != ACL_ERROR_RT_VECTOR_CORE_EXCEPTION;
    if (is_refused && is_dumping() && before.call != nullptr) {
      const bool is_in_host_memory = platform_kind() == PlatformKind::cpu;
      dump_call(*before.call->record, function, status.sentence(), is_in_host_memory ? before : DumpedData{});
    }
    if (!is_tracing()) return;
    trace_event(function, "phase 2", begin, end, [&](Json& json) {
      json.field("code", status.code());
      if (!status.ok()) json.field("error", status.sentence());
    });
  });
}

}  // namespace

Status record_phase2(const DumpedData& before, const char* function, const std::function<Status()>& phase) {
  const Clock::time_point begin = Clock::now();
  const auto record = [&](const Status& status) { record_end(before, function, begin, status); };
  try {
    Status status = phase();
    record(status);
    return status;
  } catch (const DeviceFailure& failure) {
    quietly([&] { record({failure.code(kLaunchWall.device), failure.what()}); });
    throw;
  } catch (const std::bad_alloc& error) {
    quietly([&] { record({kLaunchWall.allocation, sentence_of(error)}); });
    throw;
  }
}

void record_task(Task& task, const std::shared_ptr<const Call>& call, uint64_t stream_number) noexcept {
  // On a GPU the task is not a host function, and its tensors are not in host memory: only the phases are
  // recorded.
  if (call->record == nullptr || platform_kind() != PlatformKind::cpu) return;
  quietly([&] {
    task.plan = std::make_shared<const RecordedTask>(
        RecordedTask{task.run, task.describe, task.plan, call, stream_number});
    task.run = run_recorded;
  });
}

}  // namespace openaclnn
