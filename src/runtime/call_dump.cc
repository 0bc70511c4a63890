// Dumps the inputs and outputs of calls.
#include "runtime/call_dump.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/function_name.h"
#include "base/json.h"
#include "runtime/device_failure.h"
#include "runtime/dump_stage.h"
#include "runtime/recorder.h"

namespace openaclnn {

struct CallDump {
  DumpStage outputs;
};

namespace {

std::string scalar_json(const RecordedArgument& argument) {
  using Kind = RecordedArgument::Kind;
  Json json;
  const auto typed = [&](const char* type) -> Json& {
    return json.open('{').field("type", type).key("value");
  };
  if (!argument.is_given) return "null";
  switch (argument.kind) {
    case Kind::integer: typed("int").value(argument.integers[0]).close('}'); break;
    case Kind::real: typed("float").python_float(argument.real).close('}'); break;
    case Kind::flag: typed("bool").value(argument.integers[0] != 0).close('}'); break;
    case Kind::text: typed("str").value(argument.text).close('}'); break;
    case Kind::integers:
      json.open('[');
      for (const int64_t number : argument.integers)
        json.open('{').field("type", "int").field("value", number).close('}');
      json.close(']');
      break;
    case Kind::tensor:
    case Kind::list: return {};
  }
  return json.text();
}

// The tensor as the caller described it, because plans may simplify shapes.
DumpItem::Tensor described(const RecordedArgument::TensorText& tensor, void* data) {
  if (tensor.dims.size() > kMaxRank) return {};  // another thread changed it during phase 1
  TensorView view;
  view.data = data;
  view.offset = tensor.offset;
  view.dtype = tensor.dtype;
  view.rank = static_cast<int>(tensor.dims.size());
  std::ranges::copy(tensor.dims, view.dims);
  std::ranges::copy(tensor.strides, view.strides);
  return {data != nullptr || view.is_empty(), view};
}

// The tensors of an argument, with the addresses of this call.
DumpItem tensor_item(const RecordedArgument& argument, const Parameter* parameter, const Snapshot& snapshot) {
  DumpItem item;
  item.name = argument.name;
  item.is_list = argument.kind == RecordedArgument::Kind::list;
  if (parameter == nullptr) {
    item.json = "null";
  } else if (item.is_list) {
    for (size_t k = 0; k < std::min(parameter->element_count, argument.tensors.size()); ++k) {
      void* const data = snapshot.lists->addresses[parameter->first_element + k];
      item.tensors.push_back(described(argument.tensors[k], data));
    }
  } else {
    const auto position = static_cast<size_t>(parameter - snapshot.call->parameters.data());
    item.tensors.push_back(described(argument.tensors[0], snapshot.data[position]));
  }
  return item;
}

// The arguments by name, and the results in the order of the signature. Updated tensors are both.
void add_arguments(const Snapshot& snapshot, std::vector<DumpItem>& inputs, std::vector<DumpItem>& outputs) {
  for (const RecordedArgument& argument : snapshot.call->record->arguments()) {
    const bool is_tensor =
        argument.kind == RecordedArgument::Kind::tensor || argument.kind == RecordedArgument::Kind::list;
    if (!is_tensor) {
      inputs.push_back({argument.name, scalar_json(argument), false, {}});
      continue;
    }
    const Parameter* const parameter = snapshot.call->find(argument.name);
    DumpItem item = tensor_item(argument, parameter, snapshot);
    if (parameter != nullptr && parameter->is_output) outputs.push_back(item);
    if (parameter == nullptr || parameter->is_input) inputs.push_back(std::move(item));
  }
}

// Returns whether the stage was queued; a failure is logged.
bool queue_or_log(DumpStage stage, const Stream& stream) {
  const std::shared_ptr<DumpEntry> entry = stage.entry;
  try {
    const Status status = queue_stage(std::move(stage), stream, false);
    if (status.ok()) return true;
    entry->folder().log_once(status.sentence());
  } catch (const DeviceFailure& failure) {
    entry->folder().log_once(failure.what());
  }
  return false;
}

std::shared_ptr<CallDump> begin(const Snapshot& snapshot, const std::string& function, const Stream& stream,
                                const std::shared_ptr<DumpFolder>& folder) {
  std::vector<DumpItem> named, outputs;
  add_arguments(snapshot, named, outputs);
  Result<DumpPlace> place = folder->add_call(api_of(std::string(without_aclnn(function))));
  if (!place.ok()) {
    folder->log_once(place.status().sentence());
    return nullptr;
  }
  DumpStage inputs;
  inputs.entry = std::make_shared<DumpEntry>(folder, std::move(*place), "");
  inputs.is_logged = true;
  auto dump = std::make_shared<CallDump>(CallDump{inputs});
  add_inputs(inputs, {}, std::move(named));
  add_outputs(dump->outputs, std::move(outputs));
  return queue_or_log(std::move(inputs), stream) ? dump : nullptr;
}

}  // namespace

std::shared_ptr<CallDump> dump_inputs(const Snapshot& snapshot, const Stream& stream) noexcept {
  std::shared_ptr<CallDump> dump;
  quietly([&] {
    const std::shared_ptr<DumpFolder> folder = DumpFolder::current();
    // A call without a record was planned before aclInit.
    if (folder == nullptr || snapshot.call->record == nullptr) return;
    const std::string function(snapshot.call->function());
    if (folder->selects(function, function)) dump = begin(snapshot, function, stream, folder);
  });
  return dump;
}

void dump_outputs(const std::shared_ptr<CallDump>& dump, const Stream& stream) noexcept {
  if (dump != nullptr) quietly([&] { queue_or_log(std::move(dump->outputs), stream); });
}

}  // namespace openaclnn
